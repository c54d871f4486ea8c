"""Sends what needs a person to the webhook of the configuration. A message that cannot be sent never fails a job."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from jobs.cli.config.sections import NotifySection
from jobs.cli.monitoring.alerts import Alert
from pipelines.common.clock import Clock

if TYPE_CHECKING:
    from requests import PreparedRequest

logger = logging.getLogger(__name__)

_SHOWN = 10
_FIRES = timedelta(hours=25)
"""Alertmanager takes an alert for resolved at its end: the next night comes before."""


def send(
    alerts: Sequence[Alert], section: NotifySection, clock: Clock, environ: Mapping[str, str] = os.environ
) -> bool:
    """Sends alerts in one request.

    Neither the URL nor the token appears in a log: whoever knows Slack's URL can write to the channel.

    Args:
        alerts: nothing is sent if there is none.
        section: of the configuration.
        clock: the wall clock.
        environ: contains the variables that the section names.

    Returns:
        Whether the webhook took the message; a warning in the log says why not.
    """
    import requests

    if not alerts:
        return True
    now = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
    body: Any = slack_message(alerts) if section.form == "slack" else alertmanager_alerts(alerts, now)
    try:
        url = _value(section.webhook.get_secret_value(), environ)
        token = None if section.token is None else _value(section.token, environ)
        answer = requests.post(
            url, json=body, auth=_authorization(url, token), timeout=section.timeout / 1000, allow_redirects=False
        )
    except KeyError as error:
        logger.warning("nobody was notified: the environment variable %s is not set", error.args[0])
        return False
    except (requests.RequestException, ValueError) as error:
        logger.warning("nobody was notified: the webhook did not answer (%s)", type(error).__name__)
        return False
    taken = HTTPStatus.OK <= answer.status_code < HTTPStatus.MULTIPLE_CHOICES  # a redirect delivers nothing
    if not taken:
        logger.warning("nobody was notified: the webhook answered %s", answer.status_code)
    return taken


def slack_message(alerts: Sequence[Alert]) -> dict[str, object]:
    """Returns a message for an incoming webhook of Slack."""
    ordered = sorted(alerts, key=lambda alert: alert.name == "NEW_ERROR")  # a fleet may have many new errors
    several = len({alert.cluster for alert in alerts}) > 1
    of_all = () if several else (ordered[0].cluster, ordered[0].run_id)
    title = " ".join(part for part in ("walsafe", *of_all) if part)
    lines = [f"*{title}* needs a person"]
    for alert in ordered[:_SHOWN]:
        cluster = alert.cluster if several else ""
        name = " ".join(part for part in (cluster, alert.name, alert.key or alert.code) if part)
        lines.append(f"• {name}: {alert.summary}" + (f" → {alert.remedy}" if alert.remedy else ""))
    if len(alerts) > _SHOWN:
        lines.append(f"… and {len(alerts) - _SHOWN} more")
    return {"text": "\n".join(line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for line in lines)}


def alertmanager_alerts(alerts: Sequence[Alert], now: datetime) -> list[dict[str, object]]:
    """Returns the body of `POST /api/v2/alerts`; an alert without an end would be resolved after five minutes."""
    return [
        {
            "labels": {
                label: value
                for label, value in (
                    ("alertname", f"walsafe_{alert.name.lower()}"),
                    ("walsafe_job", alert.job),  # Alertmanager keeps one of two alerts with the same labels
                    ("cluster", alert.cluster),
                    ("code", alert.code),
                    ("key", alert.key),
                )
                if value
            },
            "annotations": {"summary": alert.summary, "remedy": alert.remedy, "run_id": alert.run_id},
            "startsAt": now.isoformat(),
            "endsAt": (now + _FIRES).isoformat(),
        }
        for alert in alerts
    ]


def _authorization(url: str, token: str | None) -> "Callable[[PreparedRequest], PreparedRequest]":
    """Returns what sends the token, or the user of the URL: else requests would send what `.netrc` has for the host."""
    from requests.auth import HTTPBasicAuth
    from requests.utils import get_auth_from_url

    user, password = get_auth_from_url(url)

    def authorized(request: "PreparedRequest") -> "PreparedRequest":
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        return request

    return HTTPBasicAuth(user, password) if token is None and (user or password) else authorized


def _value(text: str, environ: Mapping[str, str]) -> str:
    return environ[text[1:]] if text.startswith("$") else text
