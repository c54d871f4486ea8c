"""Extracts the tail of a private log: every committed write after the database's last flushed decree."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.private_log.requests import Replay, RowWrite, decode_request
from pipelines.pegasus.domain.values import StoredValue, Timetag, encode_value


@dataclass(frozen=True, slots=True)
class LogTail:
    """The rows in the tail of a log.

    Attributes:
        committed: the last decree that the tail includes.
        rows: the encoded values by raw key; None = the row was removed.
        writes: the number of row writes and removals, including those overwritten later.
    """

    committed: int
    rows: dict[bytes, bytes | None] = field(default_factory=dict)
    writes: int = 0


def committed_tail(
    mutations: Iterable[Mutation], flushed: int, committed: int | None, version: int, cluster_id: int, where: str
) -> LogTail:
    """Returns the committed part of a log after the flushed data.

    If a decree has several mutations, the one with the highest ballot counts, and of those the last. Mutations after
    the last committed decree are left out: they were never acknowledged, or are lost with their primary.

    Args:
        mutations: the mutations of all logs, in order.
        flushed: the last flushed decree of the database.
        committed: the last decree to apply; None = the largest `last_committed_decree` in the log.
        version: the `pegasus_data_version`.
        cluster_id: the cluster id for time tags.
        where: the name of the log in messages.

    Raises:
        RefusedError: a decree is missing, or a request cannot be replayed without the previous value.
    """
    behind: dict[int, Mutation] = {}
    said = flushed
    for one in mutations:
        said = max(said, one.committed)
        if one.decree > flushed and (one.decree not in behind or behind[one.decree].ballot <= one.ballot):
            behind[one.decree] = one
    upto = said if committed is None else committed
    missing = [decree for decree in range(flushed + 1, upto + 1) if decree not in behind]
    if missing:
        raise RefusedError(
            Condition.DECREE_MISSING,
            f"{where}: decree {missing[0]} is in no private log, the data end at {flushed}, and {upto} is committed: "
            "writes would be lost. Copy the logs too, or give --committed-decree",
        )
    tail: dict[bytes, bytes | None] = {}
    writes = 0
    for decree in range(flushed + 1, upto + 1):
        for row in _rows(behind[decree], where):
            tail[row.key] = _encoded(row, behind[decree], version, cluster_id)
            writes += 1
    return LogTail(upto, tail, writes)


def _rows(mutation: Mutation, where: str) -> Iterator[RowWrite]:
    for update in mutation.updates:
        request = decode_request(update)
        if request.replay in {Replay.NEEDS_BASE, Replay.UNKNOWN}:
            raise RefusedError(
                Condition.DECREE_NOT_REPLAYABLE,
                f"{where}: decree {mutation.decree} is {update.code}, which the log alone cannot replay"
                f"{': ' + request.problem if request.problem else ''}. Flush the table first, or split a cold backup",
            )
        yield from request.rows


def _encoded(row: RowWrite, mutation: Mutation, version: int, cluster_id: int) -> bytes | None:
    if row.value is None:
        return None
    tag = None if version == 0 else Timetag(mutation.timestamp_us or 0, cluster_id, deleted=False)
    return encode_value(StoredValue(version, row.expire_ts, tag, row.value))
