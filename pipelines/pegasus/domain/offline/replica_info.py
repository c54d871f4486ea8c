"""Parses the small files of a replica and a cold backup: `.app-info`, `.init-info`, `app_metadata`.

The format of `.app-info` is derived from Pegasus's source (`replica_app_info::store`, `marshall_thrift_internal`,
`dsn.layer2.thrift`), without a file of a real server. So an unexpected file is reported but does not stop the job.
"""

import json
from dataclasses import dataclass

from pipelines.common.errors import MalformedError

APP_INFO, INIT_INFO = ".app-info", ".init-info"
_MARK = bytes.fromhex("080000deadbeef00")
"""A thrift struct (binary) with the magic number as its field 0, an i32."""
_NAME, _ID, _COUNT, _FIRST_COUNT = "3", "4", "5", "13"


@dataclass(frozen=True, slots=True)
class AppInfo:
    """The part of `app_info` that a split needs.

    Attributes:
        init_partition_count: the partition count at creation; None = the file does not have it.
    """

    app_id: int
    app_name: str
    partition_count: int
    init_partition_count: int | None = None


@dataclass(frozen=True, slots=True)
class InitInfo:
    """The part of `replica_init_info` that a split needs.

    Attributes:
        log_offset: the global offset in the private logs from which mutations count; the replica ignores those before
            it, because they are from before it learned its data (`replica::replay_mutation`).
        durable_decree: the decree that the data must have; with less, the server does not open the replica
            (`replication_app_base::open_internal`).
    """

    log_offset: int = 0
    durable_decree: int = 0


def parse_app_info(data: bytes) -> AppInfo:
    """Parses `.app-info`: the magic number, then `app_info` in thrift's JSON, whose keys are the field numbers.

    Raises:
        MalformedError: the bytes have another format.
    """
    if not data.startswith(_MARK):
        raise MalformedError(f"it begins with {data[:8].hex() or 'nothing'}, not with {_MARK.hex()}")
    try:
        fields = json.loads(data[len(_MARK) :])["0"]["rec"]
        first = fields.get(_FIRST_COUNT)
        return AppInfo(
            _number(fields[_ID]["i32"]),
            _text(fields[_NAME]["str"]),
            _number(fields[_COUNT]["i32"]),
            None if first is None else _number(first["i32"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedError(
            f"its content after the first 8 bytes is not app_info in thrift's JSON ({error!r})"
        ) from None


def parse_app_metadata(data: bytes) -> AppInfo:
    """Parses `app_metadata`: `app_info` as the meta server writes it (`json_helper.h`). Ignores other keys.

    Raises:
        MalformedError: the bytes have another format.
    """
    try:
        said = json.loads(data)
        first = said.get("init_partition_count")
        return AppInfo(
            _number(said["app_id"]),
            _text(said["app_name"]),
            _number(said["partition_count"]),
            None if first is None else _number(first),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedError(f"it is not app_info in JSON ({error!r})") from None


def parse_init_info(data: bytes) -> InitInfo:
    """Parses `.init-info`: `replica_init_info` in JSON. Ignores other keys.

    Raises:
        MalformedError: the bytes have another format.
    """
    try:
        said = json.loads(data)
        return InitInfo(_number(said["init_offset_in_private_log"]), _number(said["init_durable_decree"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MalformedError(f"it is not a replica_init_info in JSON ({error!r})") from None


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
