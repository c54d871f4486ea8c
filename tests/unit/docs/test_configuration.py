"""The configuration's reference and example say what the models say."""

import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from types import ModuleType

import pytest
import yaml

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


def dotted(node: yaml.Node | None, prefix: str = "") -> Iterator[str]:
    """Every key of a document, one that stands twice in a mapping twice."""
    if isinstance(node, yaml.SequenceNode):
        for part in node.value:
            yield from dotted(part, prefix)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield prefix + key.value
            yield from dotted(value, f"{prefix}{key.value}.")


@pytest.mark.promise("example-has-every-key")
def test_the_example_has_every_key(generator: ModuleType) -> None:
    """Each key as often as there are sources that have it."""
    text = EXAMPLE.read_text(encoding="utf-8")
    # with every line that is commented out, too
    whole = re.sub(r"^( {0,4})# ( {0,4})(?=\w+:(?: |$)|- \{)", r"\1\2", text, flags=re.MULTILINE)
    found, every = Counter(dotted(yaml.compose(whole))), Counter(generator.every_key())
    assert every - found == Counter()
    own = ("capture.files.properties.", "capture.hbase.properties.", "maintain.keep.tables.")
    assert [key for key in found if key not in every and not key.startswith(own)] == []
