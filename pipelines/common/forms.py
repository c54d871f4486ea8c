"""What comes from a file is validated here, by pydantic: the base class of all forms, their types, and their errors.

A form is a pydantic model of one JSON document or line. A typing error in a key must never weaken a check, so an
unknown key is an error. Values inside walsafe are frozen dataclasses: `becomes` makes one of a form.

The rule and what HBase writes do not import this module (pyproject.toml, import-linter).
"""

import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    Strict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.common.instants import parse_instant
from pipelines.common.names import NAME
from pipelines.common.strict_json import JsonValue, read_json

KeyPath: TypeAlias = tuple[str | int, ...]
ItemT = TypeVar("ItemT")
ValueT = TypeVar("ValueT")
_MAX_LONG = 2**63 - 1
_SHOULD = re.compile("^(?:Input|String|Tuple) should ")
_IN_PLAIN_WORDS = {
    "bool_type": "must be true or false",
    "model_type": "must be an object of keys and values",
    "model_attributes_type": "must be an object of keys and values",
    "dict_type": "must be an object of keys and values",
    "tuple_type": "must be a list",
    "frozen_set_type": "must be a list",
}


class Form(BaseModel):
    """One JSON object: types are strict, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)


class OpenForm(Form):
    """One JSON object of another program, or of a newer version: unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore")


FormT = TypeVar("FormT", bound=Form)


class WrittenAs:
    """Marks the type of a value by how a file has it: `Annotated[CaptureStep, WrittenAs(_Step)]`.

    Args:
        form: the form in the file.
        value: makes the value of a form; its ValueError is a problem of the document. Default: the type itself, with
            the fields of the form.
        without: a field of the form that the value does not have.
    """

    def __init__(
        self, form: type[FormT], value: Callable[[FormT], object] | None = None, *, without: str | None = None
    ) -> None:
        self._form = form
        self._value = value
        self._without = without

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - a type
        """See pydantic's manual of custom types."""

        def same_fields(form: Form) -> object:
            return source(**{key: field for key, field in form if key != self._without})

        value: Callable[[Any], object] = self._value or same_fields
        return core_schema.no_info_after_validator_function(value, handler.generate_schema(self._form))


def value_of(form: TypeAdapter[ValueT], document: JsonValue, where: str) -> ValueT:
    """Validates a JSON document, and returns the value that its form becomes.

    Args:
        form: what it must look like.
        document: a result of `read_json`.
        where: the name of the document in messages.

    Raises:
        SnapshotError: a key is missing, unknown or wrong; the message names the first such key.
    """
    try:
        return form.validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        words = problem_of(first, document)[1]
        if first["type"] not in {"missing", "extra_forbidden", "value_error"}:
            words += f", found {str(first['input'])[:120]!r}"
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{where}: {words}") from None


def read_value(form: TypeAdapter[ValueT], text: str | bytes, where: str) -> ValueT:
    """Parses JSON text and validates it; see `read_json` and `value_of`."""
    return value_of(form, read_json(text, where), where)


def problem_of(problem: ErrorDetails, values: object) -> tuple[KeyPath, str]:
    """Returns the key of one problem that pydantic found, as written in the file, and a sentence about it.

    Args:
        problem: an entry of `ValidationError.errors()`.
        values: the plain values that were validated.
    """
    path, kind = _as_written(problem["loc"], values), problem["type"]
    key = _dotted(path or problem["loc"])
    if kind == "extra_forbidden":
        return path, f"unknown key {key!r}"
    if kind == "missing":
        return path, f"key {_dotted((*path, problem['loc'][-1]))!r} is missing"
    message = _SHOULD.sub("must ", problem["msg"].removeprefix("Value error, "))
    message = _IN_PLAIN_WORDS.get(kind, message)
    if not key:
        return path, message
    return path, f"{key!r} {message}" if message.startswith("must ") else f"{key!r}: {message}"


def one_of(values: Sequence[str]) -> AfterValidator:
    """Accepts only these values."""

    def check(value: str) -> str:
        if value not in values:
            raise ValueError(f"must be one of {', '.join(values)}, found {value[:120]!r}")
        return value

    return AfterValidator(check)


def exactly(value: int) -> AfterValidator:
    """Accepts only this number, for example of a format."""

    def check(found: int) -> int:
        if found != value:
            raise ValueError(f"must be {value}, found {found}")
        return found

    return AfterValidator(check)


def parsed(parse: Callable[[str], object]) -> PlainValidator:
    """Makes a string what `parse` makes of it; a ValueError of `parse` is the problem."""

    def check(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f"must be a string, found {str(value)[:120]!r}")
        return parse(value)

    return PlainValidator(check)


def _base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:  # characters that are not base64, ASCII or not
        raise ValueError(f"not base64 ({error})") from None


def _no_null(value: JsonValue) -> JsonValue:
    if value is None:
        raise ValueError("must not be null; leave the key out")
    return value


def _as_written(location: KeyPath, values: JsonValue) -> KeyPath:
    """Returns the path as written in the file; pydantic adds the chosen member of a union to it."""
    known: KeyPath = ()
    for part in location:
        listed = isinstance(values, list) and isinstance(part, int) and part < len(values)
        if listed or (isinstance(values, dict) and part in values):
            values, known = values[part], (*known, part)
    return known


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))


Text = Annotated[str, StringConstraints(min_length=1)]
Name = Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}$")]
"""The name of a cluster or a run id, which is also a part of paths."""
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Int64 = Annotated[int, Field(ge=-_MAX_LONG - 1, le=_MAX_LONG)]
Count = Annotated[int, Field(ge=0, le=_MAX_LONG)]
Instant = Annotated[int, parsed(parse_instant)]
"""Ms since the epoch, written as in `pipelines.common.instants`."""
Base64 = Annotated[bytes, parsed(_base64)]
MayBeAbsent: TypeAlias = Annotated[ItemT | None, BeforeValidator(_no_null)]
"""A key that may be absent, but not null; its default is None."""
Many: TypeAlias = Annotated[tuple[ItemT, ...], Strict(strict=False)]
"""A JSON list."""


class _Versioned(Form):
    model_config = ConfigDict(extra="ignore")

    format: Int64


VERSION: TypeAdapter[int] = TypeAdapter(Annotated[int, WrittenAs(_Versioned, lambda form: form.format)])
"""The format of a document: it is read first, because another format has other keys."""
