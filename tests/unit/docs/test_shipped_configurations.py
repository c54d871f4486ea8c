"""Every configuration that we ship or show is taken by the loader, and what a night is started with can be a night."""

import re
from collections.abc import Iterator

import pytest
import yaml

from jobs.cli.config.configuration import parse_config
from jobs.night.plan import NightRequest, night_plan
from pipelines.common.errors import UsageError
from tests.labs.documented_commands import IDS, PAGES, blocks
from tests.labs.places import PROJECT
from tests.labs.small_cluster import At

CONF = PROJECT / "conf"
OF_OTHER_PROGRAMS = {"walsafe-nightly.example.yaml", "catalog/sources.yml", "monitoring/walsafe.rules.yml"}
"""Of Airflow's DAG, which has its own test; of dbt; of Prometheus."""
NIGHTS = {"production.example.yaml", "kubernetes/night.yaml: walsafe-prod-a/prod-a.yaml"}


def shipped() -> Iterator[tuple[str, str]]:
    """Names and texts; of a manifest for Kubernetes, those in its ConfigMaps."""
    for file in sorted([*CONF.rglob("*.yaml"), *CONF.rglob("*.yml")]):
        name, text = str(file.relative_to(CONF)), file.read_text(encoding="utf-8")
        if name in OF_OTHER_PROGRAMS:
            continue
        objects = [one for one in yaml.safe_load_all(text) if one]
        if "apiVersion" not in objects[0]:
            yield name, text
            continue
        for one in objects:
            for key, value in one.get("data", {}).items():
                if one["kind"] == "ConfigMap" and key.endswith(".yaml") and "apiVersion" not in yaml.safe_load(value):
                    yield f"{name}: {one['metadata']['name']}/{key}", value


SHIPPED = dict(shipped())


def shown() -> Iterator[tuple[str, str]]:
    """The examples of the pages that say where a capture reads."""
    for page, name in zip(PAGES, IDS, strict=True):
        for number, text in enumerate(blocks(page, "yaml")):
            if re.search(r"^capture:", text, re.MULTILINE):
                yield f"{name}, {number}", text


SHOWN = dict(shown())


def test_they_are_found() -> None:
    assert {*NIGHTS, "demo.yaml"} == set(SHIPPED)
    assert len(SHOWN) > 5


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_is_taken(name: str) -> None:
    parse_config(SHIPPED[name], name)


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_page_shows_is_taken(name: str) -> None:
    parse_config(SHOWN[name], name)


@pytest.mark.parametrize("name", sorted(NIGHTS))
def test_a_night_can_be_a_night(name: str) -> None:
    """Each of its jobs begins: capture in order, a clean-up with live sources."""
    assert night_plan(name, parse_config(SHIPPED[name], name), NightRequest("r"), At(0)).clean


def test_a_capture_out_of_order_would_be_found() -> None:
    name = "kubernetes/night.yaml: walsafe-prod-a/prod-a.yaml"
    wrong = re.sub(
        r"(?m)^  hbase: .*",
        "  export: {path: /e}",
        SHIPPED[name].replace("state: {source: hbase}", "state: {source: export}"),
    )
    with pytest.raises(UsageError, match="never in the capture order"):
        parse_config(wrong, name)
