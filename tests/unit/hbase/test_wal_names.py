"""Names of WALs where a part is missing, or belongs to somebody else."""

import pytest

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import (
    FileKind,
    encoded_server,
    file_kind,
    is_replication_table_group,
    parse_wal_name,
    wal_timestamp,
)

SERVER = ServerName("h1", 16020, 5)
E = "h1%2C16020%2C5"


@pytest.mark.promise("parses-as-hbase-does")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"{E}.7", FileKind.WAL),
        (f"{E}.7.meta", FileKind.WAL),
        ("pv2-00000000000000000001.log", FileKind.PROCEDURE_WAL),
        ("h1%2C16000%2C5.7$masterlocalwal$", FileKind.MASTER_LOCAL_WAL),
        ("README", FileKind.INVALID),
        (f"{E}.7.a.b", FileKind.INVALID),
    ],
)
def test_the_kind_of_a_file_is_in_its_name(name: str, kind: FileKind) -> None:
    assert file_kind(name) is kind


def test_a_time_that_does_not_fit_is_none_and_no_smaller_one() -> None:
    name = f"{E}.9223372036854775808"
    wal = parse_wal_name(name)
    assert wal is not None
    assert wal.timestamp is None
    with pytest.raises(MalformedError, match=f"the timestamp of '{name}' does not fit in 64 bits"):
        wal_timestamp(name)
    assert wal_timestamp(f"{E}.9223372036854775807") == 2**63 - 1


@pytest.mark.parametrize(
    ("group", "is_one"),
    [
        (f"{E}.rep", True),
        (f"{E}.{E}.rep.0", True),
        (f"{E}.{E}.rep", False),
        (f"{E}.rep.0", False),
        ("h2%2C16020%2C5.rep", False),
        ("h2%2C16020%2C5.h2%2C16020%2C5.rep.0", False),
        ("None.rep", False),
        ("None.None.rep.0", False),
    ],
)
def test_which_groups_hold_the_wals_of_the_replication_table(group: str, is_one: bool) -> None:
    assert is_replication_table_group(group, SERVER) is is_one


def test_the_prefix_of_another_server_is_none() -> None:
    assert encoded_server(f"{E.upper()}.rep", SERVER) == E.upper()
    assert encoded_server("h2%2C16020%2C5.rep", SERVER) is None
    assert encoded_server("h1", SERVER) is None
