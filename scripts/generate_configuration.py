"""Writes docs/configuration.md and conf/walsafe.schema.json from the models of the configuration; tests compare them.

Run: .venv/bin/python -m scripts.generate_configuration
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from jobs.cli.config.configuration import Config

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "configuration.md"
SCHEMA = PROJECT / "conf" / "walsafe.schema.json"

HEAD = """\
# Configuration

<!-- Written by scripts/generate_configuration.py from the models in jobs/cli/config. -->

The jobs read one YAML file: `--config FILE`. Only `demo` and `split-demo` take none. The jobs on queues and on splits
use only the keys that their pages and their `--help` name, besides `metrics` and `log_format`. Every key has a default,
unless the table says *required*, and the defaults are the safe values. `reconcile` also runs without a file.
`conf/production.example.yaml` has every key, with comments.

An unknown key, a key that occurs twice, or a value of the wrong kind is an error (exit code 2) that names file, line
and key, because a typing error must never weaken a check. Write durations like `90s`, `10m`, `24h`, `7d`, and sizes
like `500MiB`, `1GiB`. A day like `2027-01-31` means the end of this day in UTC. `runs.config_sha256` is the SHA-256 of
the effective configuration, with defaults and without secrets.

**Secrets.** Most clusters need no password here. `digest` (`user:password` for ZooKeeper), the values of `properties`,
and `notify.webhook` if it is a URL instead of `$NAME`, are secrets: walsafe never prints, hashes or stores them. If the
file has one of them, let only the service user read the file. A URL of a Pushgateway with a password is refused in
`metrics`: write `$NAME` there. walsafe also [hides secrets](capture.md#secrets) in the configuration of peers.

The file has no settings of Spark: see `conf/spark-defaults.conf` and [spark-submit](clusters.md#a-true-spark-submit).
"""

_KINDS = {
    "_duration": "duration",
    "_size": "size",
    "_bytes": "size, or number of bytes",
    "_end_of": "day or instant",
    "_instant": "instant, UTC",
    "_zone": "time zone",
}
_PLAIN = {bool: "true or false", int: "whole number", float: "number", str: "text", SecretStr: "text, secret"}
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def render() -> str:
    """Returns the text of the whole page."""
    return HEAD + "".join(_section(Config, "", "The file"))


def every_key() -> list[str]:
    """Returns every key of every section in dotted form."""
    return [key for key, _ in _keys(Config, "")]


def schema() -> dict[str, Any]:
    """Returns the JSON Schema for editors: it knows the form of each value, not how values fit together."""
    document = Config.model_json_schema()
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **document, "title": "walsafe"}
    for name, part in document["properties"].items():
        # a section whose keys are all commented out is null
        if "$ref" in part:
            document["properties"][name] = {"anyOf": [part, {"type": "null"}]}
    for model in (document, *document["$defs"].values()):
        for part in model["properties"].values():
            if part.get("type") == "string" and isinstance(part.get("default"), int):
                part["default"] = _spelled(part["default"], _SIZES if "KiB" in part["pattern"] else _UNITS)
    return document


def schema_text() -> str:
    """Returns the text of conf/walsafe.schema.json."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _keys(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        yield prefix + name, field
        for part in _models(field.annotation):
            yield from _keys(part, f"{prefix}{name}.")


def _section(model: type[BaseModel], prefix: str, title: str) -> Iterator[str]:
    about = " ".join((model.__doc__ or "").split())
    yield f"\n## {title}\n\n{about}\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
    below = []
    for name, field in model.model_fields.items():
        parts = _models(field.annotation)
        below += [(part, f"{prefix}{name}", len(parts)) for part in parts]
        value = _link(field, prefix + name) if len(parts) == 1 else " / ".join(_source(p) for p in parts)
        cells = (f"`{name}`", value if parts else _kind(field), _default(field, parts), _meaning(field, parts))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    for part, path, variants in below:
        suffix = f", source: {_source(part)}" if variants > 1 else ""
        yield from _section(part, f"{path}.", f"`{path}`{suffix}")


def _models(annotation: object) -> list[type[BaseModel]]:
    """Returns the models of sections that a value can have, including those in lists and unions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found = [model for part in get_args(annotation) for model in _models(part)]
    return list(dict.fromkeys(found))


def _link(field: FieldInfo, path: str) -> str:
    """Returns the link from a key to its section."""
    link = f"(#{_anchor(path)})"
    return f"list of [sections]{link}" if get_origin(field.annotation) is tuple else f"[section]{link}"


def _source(model: type[BaseModel]) -> str:
    field = model.model_fields.get("source")
    return f"`{get_args(field.annotation)[0]}`" if field else model.__name__


def _anchor(path: str) -> str:
    return path.replace(".", "")


def _kind(field: FieldInfo) -> str:
    return _kind_of(field.annotation, field.metadata)


def _kind_of(annotation: Any, metadata: list[Any] | tuple[Any, ...] = ()) -> str:  # noqa: ANN401 - any annotation
    for entry in metadata:
        if isinstance(entry, BeforeValidator):
            return _KINDS[getattr(entry.func, "__name__", "")]
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind_of(parts[0], parts[1:])
    if origin in {Union, UnionType}:
        return " or ".join(_kind_of(part) for part in parts if part is not NoneType)
    if origin is Literal:
        return " or ".join(f"`{str(part).lower() if isinstance(part, bool) else part}`" for part in parts)
    if origin is tuple:
        return f"list of {_kind_of(parts[0])}"
    if origin is dict:
        return f"mapping of {_kind_of(parts[0])} to {_kind_of(parts[1])}"
    return _PLAIN[annotation]


def _default(field: FieldInfo, parts: list[type[BaseModel]]) -> str:
    if field.is_required():
        return "*required*"
    if field.default is PydanticUndefined or field.default in {None, ()}:
        return "" if parts or field.default is PydanticUndefined else ("empty" if field.default == () else "absent")
    for words, units in (("duration", _UNITS), ("size", _SIZES)):
        if _kind(field) == words:
            return f"`{_spelled(field.default, units)}`"
    printable = isinstance(field.default, str) and field.default.isprintable()
    return f"`{field.default if printable else json.dumps(field.default)}`"


def _spelled(value: int, units: Sequence[tuple[int, str]]) -> str:
    factor, unit = next(entry for entry in units if value % entry[0] == 0)
    return f"{value // factor}{unit}"


def _meaning(field: FieldInfo, parts: list[type[BaseModel]]) -> str:
    if field.description:
        return field.description
    return " ".join((parts[0].__doc__ or "").split()) if len(parts) == 1 else ""


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
    SCHEMA.write_text(schema_text(), encoding="utf-8")
