"""Extracts the tail of a private log: every write after the database's last flushed decree that may be acknowledged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.pegasus.domain.private_log.log_file import LogFile
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.private_log.requests import Replay, RowWrite, decode_request
from pipelines.pegasus.domain.values import StoredValue, Timetag, encode_value


@dataclass(frozen=True, slots=True)
class LogTail:
    """The rows in the tail of a log.

    Attributes:
        last: the last decree that the tail includes.
        rows: the encoded values by raw key; None = the row was removed.
        writes: the number of row writes and removals, including those overwritten later.
        left_out: the decrees of prepared mutations that the tail does not include, in order.
    """

    last: int
    rows: dict[bytes, bytes | None] = field(default_factory=dict)
    writes: int = 0
    left_out: tuple[int, ...] = ()


def log_tail(
    mutations: Iterable[Mutation], flushed: int, committed: int | None, version: int, cluster_id: int, where: str
) -> LogTail:
    """Returns the part of a log after the flushed data that the replica would surely commit.

    A mutation states the last committed decree at the time it was prepared, so a log cannot state that its own last
    mutations were committed. A new primary prepares again all that its log has (`replica::replay_prepare_list`). So
    every prepared mutation counts, up to the first missing decree or the first lower ballot. If a decree has several
    mutations, the first one with the highest ballot counts (`replica::replay_mutation`).

    A new primary does not stop there: it prepares an empty mutation for a missing decree, and the later ones again. But
    Pegasus commits in order, and only what each replica of the group has logged. So either no client was told about the
    later ones, or the log has lost a part. Which of the two the log does not show, so they are left out and reported.

    Args:
        mutations: the mutations of all logs, in order.
        flushed: the last flushed decree of the database.
        committed: the last decree to apply; None = as far as the log is prepared.
        version: the `pegasus_data_version`.
        cluster_id: the cluster id for time tags.
        where: the name of the log in messages.

    Raises:
        RefusedError: a committed decree is missing, or a request cannot be replayed without the previous value.
        UsageError: `committed` is lower than what the data or the log prove.
    """
    behind: dict[int, Mutation] = {}
    proven = flushed
    for one in mutations:
        proven = max(proven, one.committed)
        if one.decree > flushed and (one.decree not in behind or behind[one.decree].ballot < one.ballot):
            behind[one.decree] = one
    if committed is not None and committed < proven:
        by = f"the data are flushed up to decree {flushed}" if committed < flushed else f"the log states {proven}"
        raise UsageError(
            f"{where}: --committed-decree {committed} is too low: {by}. Give the partition's last_committed_decree, or "
            "omit the option"
        )
    needed = proven if committed is None else committed
    missing = next((decree for decree in range(flushed + 1, needed + 1) if decree not in behind), None)
    if missing is not None:
        raise RefusedError(
            Condition.DECREE_MISSING,
            f"{where}: decree {missing} is in no private log, the data end at {flushed}, and {needed} is committed: "
            "writes would be lost. Copy the logs too, or take the replica of another server",
        )
    last = needed
    if committed is None:
        last = _prepared(behind, proven)
    tail: dict[bytes, bytes | None] = {}
    writes = 0
    for decree in range(flushed + 1, last + 1):
        for row in _rows(behind[decree], where):
            tail[row.key] = _encoded(row, behind[decree], version, cluster_id)
            writes += 1
    left_out = () if committed is not None else tuple(sorted(decree for decree in behind if decree > last))
    return LogTail(last, tail, writes, left_out)


def refuse_missing_log(logs: Sequence[LogFile], valid_offset: int, flushed: int, last: int, where: str) -> None:
    """Refuses logs of which the first are missing, by what the header of the first log states.

    A server deletes a log only if its decrees are durable, or lie before `init_offset_in_private_log`
    (`mutation_log::garbage_collection`). So the decrees before the first log are in the data. The header of a log that
    begins before that offset may state decrees that the replica has discarded; later headers begin with the decree that
    it had learned (`mutation_log::on_partition_reset`).

    Args:
        logs: the logs that have been read, in order.
        valid_offset: the global offset in the private logs from which mutations count.
        flushed: the last flushed decree of the database.
        last: the last decree of the tail.
        where: the name of the log in messages.

    Raises:
        RefusedError: there were decrees before the first log that are neither in the data nor in the tail.
    """
    before = logs[0].max_decree_before if logs and logs[0].start_offset >= valid_offset else None
    if before is not None and before > max(flushed, last):
        raise RefusedError(
            Condition.DECREE_MISSING,
            f"{where}: {logs[0].log} states that earlier logs go up to decree {before}, the data end at {flushed}, and "
            f"the logs at {last}: a log is missing, and writes would be lost. Copy the missing logs too, or take the "
            "replica of another server; if you know the partition's last_committed_decree, give --committed-decree",
        )


def refuse_incomplete(flushed: int, demanded: int, where: str) -> None:
    """Refuses data that a server would not open (`replication_app_base::open_internal`).

    A replica has such data if its server died while it learned: the server has written `init_durable_decree` already,
    and the checkpoint up to this decree is missing.

    Args:
        flushed: the last flushed decree of the database.
        demanded: the `init_durable_decree` of `.init-info`.
        where: the name of the data in messages.

    Raises:
        RefusedError: the data end before the decree that they must have.
    """
    if demanded > flushed:
        raise RefusedError(
            Condition.DECREE_MISSING,
            f"{where}: the data are incomplete: they end at decree {flushed}, and .init-info demands decree {demanded} "
            "(init_durable_decree). Pegasus does not open such a replica. Take the replica of another server",
        )


def _prepared(behind: dict[int, Mutation], proven: int) -> int:
    """Returns the last decree of the mutations that follow the proven ones without a gap or a lower ballot."""
    last, ballot = proven, behind[proven].ballot if proven in behind else 0
    while (following := behind.get(last + 1)) is not None and following.ballot >= ballot:
        last, ballot = last + 1, following.ballot
    return last


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
