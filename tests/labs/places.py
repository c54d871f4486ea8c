"""Defines the paths of the project, its pages and the recorded data of the tests."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
TESTS = PROJECT / "tests"
GOLDEN = TESTS / "golden"
CORPUS = TESTS / "corpus"
