"""Which mutations of a private log count: all that are prepared, up to a gap or a lower ballot."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pipelines.common.errors import RefusedError, UsageError
from pipelines.pegasus.domain.offline.tail import LogTail, log_tail
from pipelines.pegasus.domain.private_log.mutations import Mutation, MutationUpdate
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.private_log.requests import decode_request
from pipelines.pegasus.domain.values import decode_value
from pipelines.pegasus.simulate.emission.logs import encode_put
from pipelines.pegasus.sources.replica_logs import ReplicaLogs
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry, LogWriter

KEY = b"\0\1ks"
FLUSHED = 10


def mutation(decree: int, ballot: int = 3, committed: int | None = None, value: bytes | None = None) -> Mutation:
    put = encode_put(KEY, b"%d.%d" % (ballot, decree) if value is None else value)
    return Mutation(Gpid(2, 1), ballot, decree, 0, decree - 1 if committed is None else committed, 1, (put,))


def tail(mutations: Sequence[Mutation], committed: int | None = None) -> LogTail:
    return log_tail(mutations, FLUSHED, committed, 1, 1, "2.1")


def last_value(found: LogTail) -> bytes:
    value = found.rows[KEY]
    assert value is not None
    return decode_value(value).data


@pytest.mark.parametrize(
    ("mutations", "last", "left_out"),
    [
        ([], 10, ()),
        ([mutation(11), mutation(12), mutation(13)], 13, ()),  # 13 is prepared; no mutation states that it is committed
        ([mutation(10), mutation(11)], 11, ()),
        ([mutation(11), mutation(12, ballot=4)], 12, ()),
        ([mutation(11, committed=10), mutation(13, committed=10)], 11, (13,)),
        ([mutation(11, ballot=4, committed=10), mutation(12, ballot=3, committed=10)], 11, (12,)),
        ([mutation(11), mutation(12), mutation(12, ballot=5, committed=11), mutation(13, committed=11)], 12, (13,)),
    ],
)
def test_every_prepared_mutation_counts_up_to_a_gap_or_a_lower_ballot(
    mutations: list[Mutation], last: int, left_out: tuple[int, ...]
) -> None:
    found = tail(mutations)
    assert (found.last, found.left_out) == (last, left_out)
    assert found.writes == last - FLUSHED


def test_the_first_of_the_highest_ballot_wins() -> None:
    entries = [mutation(11, value=b"a"), mutation(11, 4, value=b"b"), mutation(11, 4, value=b"c"), mutation(11, 2)]
    assert last_value(tail(entries)) == b"b", "replica::replay_mutation skips an equal ballot"


def test_the_operators_decree_is_kept_and_contradictions_are_refused() -> None:
    entries = [mutation(11, committed=10), mutation(12, committed=11), mutation(13, committed=11)]
    found = tail(entries, committed=12)
    assert (found.last, found.left_out, last_value(found)) == (12, (), b"3.12")
    with pytest.raises(UsageError, match="--committed-decree 9 is too low: the data are flushed up to decree 10"):
        tail(entries, committed=9)
    with pytest.raises(UsageError, match="--committed-decree 10 is too low: the log states 11"):
        tail(entries, committed=10)
    with pytest.raises(RefusedError, match=r"decree 14 is in no private log, .* and 15 is committed"):
        tail(entries, committed=15)
    with pytest.raises(RefusedError, match="decree 12 is in no private log"):
        tail([mutation(11)], 10**18)
    with pytest.raises(RefusedError, match="decree 11 is in no private log"):
        tail([mutation(13, committed=12)])


def test_a_put_that_stands_for_a_remove_removes() -> None:
    code, data = made.put(KEY, b"")
    assert data.endswith(b"\0\0"), "the stop bytes of the struct and of the argument"
    removes = data[:-2] + b"\x08\x00\x04" + (4).to_bytes(4, "big") + b"\0\0"
    sets = data[:-2] + b"\x08\x00\x04" + (2).to_bytes(4, "big") + b"\0\0"
    check = b"\x02\x00\x05\x01\x02\x00\x06\x01\x0c\x00\x07" + (3).to_bytes(4, "big") + b"abc"
    (row,) = decode_request(MutationUpdate(code, 1, removes)).rows
    assert (row.key, row.value) == (KEY, None), "UT_CHECK_AND_MUTATE_REMOVE"
    (row,) = decode_request(MutationUpdate(code, 1, sets)).rows
    assert (row.key, row.value) == (KEY, b""), "UT_CHECK_AND_SET"
    (row,) = decode_request(MutationUpdate(code, 1, removes[:-2] + check + b"\0\0")).rows
    assert (row.key, row.value) == (KEY, None), "with the value that its client asked for"


def test_mutations_before_the_valid_offset_and_of_others_are_not_applied(tmp_path: Path) -> None:
    writer = LogWriter(2, 1)
    writer.add(Entry(1, (made.put(KEY, b"a"),)))
    valid_from = writer.end
    writer.add(Entry(2, (made.put(KEY, b"b"),)), Entry(3, (made.put(KEY, b"c"),), gpid=(2, 5)))
    (tmp_path / "log.1.0").write_bytes(writer.data)
    logs = ReplicaLogs(str(tmp_path), Gpid(2, 1), valid_from)
    assert [one.decree for one in logs] == [2]
    (file,) = logs.files
    assert (file.mutations, file.foreign, file.min_decree, file.max_decree, file.ending) == (3, 1, 1, 3, "WHOLE")
    (tmp_path / "log.1.0").write_bytes(writer.data[:-5])
    logs = ReplicaLogs(str(tmp_path), Gpid(2, 1))
    assert [one.decree for one in logs] == [1]
    assert logs.files[0].ending == "TORN"
