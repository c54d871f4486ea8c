"""Types of the configuration file: sections, names, and values with units."""

import re
from datetime import date, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from pipelines.files.local_paths import check_place
from pipelines.hbase.server_names import MAX_LONG

_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)", re.ASCII)
_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB|TiB)", re.ASCII)
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_EPOCH = date(1970, 1, 1)
UNKNOWN_KEYS: Final = "unknown_keys"
"""The type of the error of a section with unknown keys; its context has `unknown` and `known` keys."""
_LONGEST_MS = 100 * 365 * _MS["d"]


class Section(BaseModel):
    """A section of the configuration: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: object) -> object:
        """Refuses unknown keys before anything else: what else is wrong may come from a mistyped key."""
        unknown = [str(key) for key in values if key not in cls.model_fields] if isinstance(values, dict) else []
        if unknown:
            raise PydanticCustomError(UNKNOWN_KEYS, "unknown keys", {"unknown": unknown, "known": [*cls.model_fields]})
        return values


def _duration(value: object) -> int:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("expected a duration with its unit, like 90s, 10m, 24h or 7d")
    milliseconds = int(match.group(1)) * _MS[match.group(2)]
    if not 0 < milliseconds <= _LONGEST_MS:
        raise ValueError("expected a duration above zero and below a hundred years")
    return milliseconds


def _size(value: object) -> int:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("expected a size with its unit, like 500MiB, 1GiB or 2TiB")
    size = int(match.group(1)) * _BYTES[match.group(2)]
    if size > MAX_LONG:
        raise ValueError("expected a size below 8 EiB")
    return size


def _bytes(value: object) -> object:
    """Returns the bytes of a size; a plain number counts bytes."""
    return value if isinstance(value, int) else _size(value)


def _end_of(value: object) -> int:
    """Returns the last ms of a day, or an instant."""
    if isinstance(value, datetime):  # YAML itself reads `2027-01-31T12:00:00Z` and loses only the name of the zone
        if value.tzinfo is None:
            raise ValueError("expected a day like 2027-01-31, or an instant with its zone like 2027-01-31T12:00:00Z")
        return int(value.timestamp() * 1000)
    if isinstance(value, date):
        return (value.toordinal() - _EPOCH.toordinal() + 1) * _MS["d"] - 1
    raise ValueError("expected a day like 2027-01-31, or an instant with its zone like 2027-01-31T12:00:00Z")


# what an editor checks (conf/walsafe.schema.json): the form alone, since YAML 1.2 has no dates
_DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME = r"([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?[ \t]*(Z|[-+][0-9]{1,2}(:?[0-9]{2})?)"
WrittenInstant = Annotated[str, Field(pattern=f"^{_DAY}{_TIME}$")]
WrittenDuration = Annotated[str, Field(pattern=r"^0*[1-9][0-9]*\s*(ms|s|m|h|d)$")]
WrittenSize = Annotated[str, Field(pattern=r"^[0-9]+\s*(B|KiB|MiB|GiB|TiB)$")]
WrittenUntil = Annotated[str, Field(pattern=f"^{_DAY}({_TIME})?$")]

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True, pattern=r"\S")]
"""A text that is not blank."""
Place = Annotated[Text, AfterValidator(check_place)]
"""A path, or a URI of any file system."""
DurationMs = Annotated[int, BeforeValidator(_duration, json_schema_input_type=WrittenDuration)]
"""Milliseconds, written `90s`, `10m`, `24h`, `7d`."""
SizeBytes = Annotated[int, BeforeValidator(_size, json_schema_input_type=WrittenSize)]
"""Bytes, written `500MiB`, `1GiB`."""
PlainBytes = Annotated[
    int, Field(ge=1), BeforeValidator(_bytes, json_schema_input_type=Annotated[int, Field(ge=1)] | WrittenSize)
]
"""Bytes above zero, written `10TiB` or as a plain number."""
UntilMs = Annotated[int, BeforeValidator(_end_of, json_schema_input_type=WrittenUntil)]
"""Ms since the epoch, written as a UTC day (its whole length counts) or an instant."""
ClassName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)+$")]
"""The full name of a class of Java."""
WalRoot = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*://[^\x00-\x1f\x7f]*[^/\x00-\x1f\x7f]$")]
"""A full URI such as `hdfs://ns1/hbase`, without a slash at the end."""
