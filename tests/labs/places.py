"""Where the project, its pages and the recorded data of the tests lie."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
TESTS = PROJECT / "tests"
GOLDEN = TESTS / "golden"
CORPUS = TESTS / "corpus"
