"""The configuration's reference and example say what the models say."""

import importlib.util
import re
from types import ModuleType

import pytest

from jobs.cli.config.configuration import parse_config
from pipelines.decide.rule.settings import ReconcileSettings
from tests.labs.places import DOCS, PROJECT

EXAMPLE = PROJECT / "conf" / "production.example.yaml"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("configuration", PROJECT / "scripts" / "generate_configuration.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date(generator: ModuleType) -> None:
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert text == generator.render(), "run .venv/bin/python -m scripts.generate_configuration"


def test_every_key_has_its_meaning(generator: ModuleType) -> None:
    rows = [line.split(" | ") for line in generator.render().splitlines() if line.startswith("| `")]
    assert len(rows) > 30
    # these say all by their name and place
    without = {row[0].strip("| `") for row in rows if row[-1].strip(" |") == ""}
    assert without <= {"source", "host", "port", "started_at", "finished_at", "passes"}


def test_the_example_is_a_configuration_whose_decision_is_the_default() -> None:
    config = parse_config(EXAMPLE.read_text(encoding="utf-8"), EXAMPLE.name)
    assert config.settings() == ReconcileSettings()
    assert config.capture is not None
    assert len(config.digest()) == 64


@pytest.mark.promise("example-has-every-key")
def test_the_example_has_every_key(generator: ModuleType) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    missing = [key for key in generator.every_key() if not re.search(rf"\b{key.rpartition('.')[2]}:", text)]
    assert missing == []
