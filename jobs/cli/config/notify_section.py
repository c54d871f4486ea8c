"""The `notify` section of the configuration file: who is told when a night needs a person (docs/notify.md)."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr, StringConstraints, field_validator

from jobs.cli.config.config_types import DurationMs, Section

Variable = Annotated[str, StringConstraints(pattern=r"^\$[A-Za-z_]\w*$")]


class NotifySection(Section):
    """A webhook for new error findings, refusals, failures and approvals that wait."""

    webhook: SecretStr = Field(
        description="URL, or `$NAME` for the environment variable that contains it",
        examples=["$WALSAFE_WEBHOOK"],
        strict=False,
        json_schema_extra={"pattern": r"^(https?://|\$)"},
    )
    form: Literal["slack", "alertmanager"] = Field(
        default="slack", description="what the webhook takes: a message of Slack, or alerts of Alertmanager's API v2"
    )
    token: Variable | None = Field(
        default=None,
        description="`$NAME` of the environment variable that contains a bearer token",
        examples=["$WALSAFE_TOKEN"],
    )
    timeout: DurationMs = Field(default=10_000, description="of the request", examples=["10s"])

    @field_validator("webhook")
    @classmethod
    def _url_or_variable(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not text.startswith(("http://", "https://", "$")):
            raise ValueError("expected a URL that begins with http:// or https://, or $NAME of an environment variable")
        return value
