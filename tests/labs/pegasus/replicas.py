"""Makes replica directories of a small Pegasus table with RocksDB itself."""

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

import rocksdict

from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.values import EPOCH_S, StoredValue, Timetag, encode_value
from tests.labs.pegasus.private_logs import Entry, LogWriter

META = "pegasus_meta_cf"
NOW_S = 1_790_000_000
FLUSHED = 20


def stored(data: bytes, expire_ts: int = 0, timestamp_us: int = 1) -> bytes:
    return encode_value(StoredValue(1, expire_ts, Timetag(timestamp_us, 1, deleted=False), data))


def keys(partition: int, count: int, number: int, name: str = "row") -> list[bytes]:
    found: list[bytes] = []
    tried = 0
    while len(found) < number:
        key = encode_key(b"%s%d" % (name.encode(), tried), b"%d" % (tried % 3))
        tried += 1
        if key_hash(key) % count == partition:
            found.append(key)
    return found


EXPIRED = NOW_S - EPOCH_S - 10


def write_db(folder: Path, layers: Iterable[dict[bytes, bytes | None]], version: int = 1) -> None:
    """Writes a database, in the format of Pegasus's RocksDB.

    Each layer is flushed to its own files, so later layers overwrite and delete rows of earlier ones.
    """
    folder.mkdir(parents=True)
    table = rocksdict.BlockBasedOptions()
    table.set_format_version(5)
    options = rocksdict.Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_disable_auto_compactions(True)
    database = rocksdict.Rdict(str(folder), options=options, column_families={META: options})
    meta = database.get_column_family(META)
    meta[b"pegasus_data_version"] = str(version).encode()
    meta[b"pegasus_last_flushed_decree"] = str(FLUSHED).encode()
    for layer in layers:
        for key, value in layer.items():
            if value is None:
                database.delete(key)
            else:
                database[key] = value
        database.flush()
    meta.flush()
    database.close()
    (folder / "rocksdict-config.json").unlink(missing_ok=True)  # rocksdict's own; Pegasus writes none


def add_rows(folder: Path, *layers: Mapping[bytes, bytes]) -> None:
    """Adds rows to a database; each layer gets its own files."""
    options = rocksdict.Options(raw_mode=True)
    options.set_disable_auto_compactions(True)
    database = rocksdict.Rdict(str(folder), options=options, column_families={META: options})
    for layer in layers:
        for key, value in layer.items():
            database[key] = value
        database.flush()
    database.close()
    (folder / "rocksdict-config.json").unlink(missing_ok=True)


def app_info(app: int, name: str, count: int, created_with: int = 4) -> bytes:
    """Returns the bytes of `.app-info` as `replica_app_info::store` writes it."""
    fields = {
        "1": {"i32": 1}, "2": {"str": "pegasus"}, "3": {"str": name}, "4": {"i32": app}, "5": {"i32": count},
        "6": {"map": ["str", "str", 0, {}]}, "7": {"tf": 1}, "8": {"i32": 3}, "13": {"i32": created_with},
    }  # fmt: skip
    return bytes.fromhex("080000deadbeef00") + json.dumps({"0": {"rec": fields}}, separators=(",", ":")).encode()


def init_info(offset: int = 0, durable: int = 0) -> bytes:
    """Returns the bytes of `.init-info` as `replica_init_info::store` writes it."""
    told = {"magic": 0, "crc": 0, "init_ballot": 3, "init_durable_decree": durable,
            "init_offset_in_shared_log": 0, "init_offset_in_private_log": offset}  # fmt: skip
    return json.dumps(told).encode()


def write_infos(replica: Path, app: int, count: int) -> None:
    """Writes what a server writes beside the data of a new replica."""
    (replica / ".app-info").write_bytes(app_info(app, "temp", count, -1))
    (replica / ".init-info").write_bytes(init_info())


def encrypted(data: bytes) -> bytes:
    """Returns a file as pegasus-kv/encfs writes it: its header of 64 bytes, then bytes that need the key."""
    stream = hashlib.shake_256(b"key").digest(len(data))
    head = b"pegsenc\x03" + bytes(range(32))
    return head.ljust(64, b"\0") + bytes(one ^ other for one, other in zip(data, stream, strict=True))


def write_log(folder: Path, app: int, partition: int, entries: Iterable[Entry]) -> None:
    folder.mkdir(parents=True)
    writer = LogWriter(app, partition, 0, 0)
    for entry in entries:
        writer.add(entry)
    (folder / "log.1.0").write_bytes(writer.data)


def footer_version(path: Path) -> int:
    """Returns the format_version in the footer of an SST."""
    version, magic = struct.unpack("<IQ", path.read_bytes()[-12:])
    assert magic == 0x88E241B785F4CFF7, "a block-based table"
    return int(version)


def rows_of(files: Iterable[Path], scratch: Path) -> dict[bytes, bytes]:
    """Returns the rows that RocksDB reads after it has ingested SSTs, as in Pegasus's bulk load."""
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    database = rocksdict.Rdict(str(scratch), options=options)
    database.ingest_external_file([str(path) for path in files])
    found = dict(database.items())
    database.close()
    return found
