"""What is wrong in a configuration file: every mistake once, in the order of its lines, with the word that was meant.

A mistyped key also makes another key missing, or another value wrong. So the key is corrected in memory, and the rest
of the file is checked as it was meant.
"""

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from jobs.cli.config.capture_sources import NameNodeUrl, ParentZnode, Quorum, ZnodeName
from jobs.cli.config.config_types import UNKNOWN_KEYS, ClassName, WalRoot
from jobs.cli.config.sections import ArchiveUri, Variable
from jobs.cli.config.yaml_lines import YamlDocument
from pipelines.common.errors import UsageError
from pipelines.common.forms import Name, problem_of
from pipelines.common.text import closest, did_you_mean

ModelT = TypeVar("ModelT", bound=BaseModel)
_PAGE = "docs/configuration.md lists them all"
_WORD = re.compile(r"'([^']*)'")
_URI = "a full URI without a slash at its end"
_FORMS = {
    get_args(form)[1].pattern: words
    for form, words in (
        (Name, "a letter or digit, then letters, digits, '.', '_' and '-', at most 64 in all, like prod-a"),
        (ClassName, "the full name of a class, like org.apache.hadoop.hbase.master.cleaner.TimeToLiveLogCleaner"),
        (WalRoot, f"{_URI}, like hdfs://ns1/hbase"),
        (ArchiveUri, f"{_URI}, like hdfs://cold/walsafe/archive"),
        (Quorum, "hosts with their ports, like zk1:2181,zk2:2181,zk3:2181"),
        (ParentZnode, "an absolute path without a slash at its end, like /hbase"),
        (ZnodeName, "a name without a slash, like rs"),
        (NameNodeUrl, "a URL without user and password, like http://nn1:9870"),
        (Variable, "the name of an environment variable, like $WALSAFE_TOKEN"),
    )
}
"""The form of a text in words, by its pattern."""
_NO_TAG, _BAD_TAG = "union_tag_not_found", "union_tag_invalid"


def validate_model(model: type[ModelT], document: YamlDocument) -> ModelT:
    """Validates a YAML document against a model.

    Raises:
        UsageError: one line for each mistake, with file, line and key.
    """
    found: dict[tuple[int, str], None] = {}
    while True:
        try:
            valid = model.model_validate(document.values)
        except ValidationError as error:
            problems = _true(error.errors(include_url=False))
        else:
            if not found:
                return valid
            break
        corrected = document
        for problem in problems:
            path, _ = problem_of(problem, document.values)
            for key, meant in _mistyped(problem, document.at(path)).items():
                hint = f"; did you mean {meant}?" if meant else f"; {_PAGE}"
                words = f"unknown key {_dotted(*path, key)!r}{hint}"
                found[document.line((*path, key)), words] = None
                corrected = corrected.renamed((*path, key), meant)
        if corrected is document:
            found.update({_said(problem, document): None for problem in problems})
            break
        document = corrected
    raise UsageError(
        "\n".join(f"{document.name}, line {line}: {words}" for line, words in sorted(found, key=itemgetter(0)))
    )


def _true(problems: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Leaves out that a list is too short if an item is wrong: pydantic does not count this item."""
    of_items = {problem["loc"][:-1] for problem in problems}
    return [problem for problem in problems if problem["type"] != "too_short" or problem["loc"] not in of_items]


def _mistyped(problem: ErrorDetails, section: object) -> Mapping[str, str | None]:
    """Returns the unknown keys of a section that a problem is about, each with the key that was meant."""
    if not isinstance(section, dict):
        return {}
    context = problem.get("ctx", {})
    if problem["type"] == _NO_TAG:
        tag = context["discriminator"].strip("'")
        key = closest(tag, map(str, section))  # a number may be a key of YAML
        return {key: tag} if key else {}
    if problem["type"] != UNKNOWN_KEYS:
        return {}
    free = [key for key in context["known"] if key not in section]
    meant: dict[str, str | None] = {}
    for key in context["unknown"]:
        meant[key] = closest(key, free)
        free = [one for one in free if one != meant[key]]
    return meant


def _said(problem: ErrorDetails, document: YamlDocument) -> tuple[int, str]:
    """Returns the line of a problem and what is wrong there."""
    path, words = problem_of(problem, document.values)
    context = problem.get("ctx", {})
    if problem["type"] == _NO_TAG:
        tag = context["discriminator"].strip("'")
        words = f"key {_dotted(*path, tag)!r} is missing; docs/configuration.md lists its words"
    elif problem["type"] == _BAD_TAG:
        known = _WORD.findall(context["expected_tags"])
        path = (*path, context["discriminator"].strip("'"))
        words = f"{_dotted(*path)!r} must be one of {', '.join(known)}" + did_you_mean(context["tag"], known)
    elif problem["type"] == "literal_error":
        words += did_you_mean(str(problem["input"]), _WORD.findall(context["expected"]))
    elif problem["type"] == "string_pattern_mismatch" and context["pattern"] in _FORMS:
        words = f"{_dotted(*path)!r}: expected {_FORMS[context['pattern']]}"
    elif problem["type"] == "bool_type":
        words += did_you_mean(str(problem["input"]), ("true", "false"))
    return document.line(path), words


def _dotted(*path: str | int) -> str:
    return ".".join(map(str, path))
