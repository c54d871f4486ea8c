"""Checks that the log files of a replica follow each other, and decides which may be deleted."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby, pairwise

from pipelines.lake.findings import ERROR
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.audit_log.facts import SplitFacts
from pipelines.pegasus.domain.private_log.blocks import LogEnd
from pipelines.pegasus.domain.private_log.log_file import DELETABLE, HELD, LogFile
from pipelines.pegasus.domain.rule_violations import rule_violation

_INCOMPLETE = {
    LogEnd.TORN.value: "it ends inside a block, so the writes of that block are missing",
    LogEnd.NO_HEADER.value: "it has no complete header, so its writes are missing",
}
_OF_PARTITION = re.compile(r"(\d+)\.(\d+)[@/]")
"""How the subject of a finding about a replica or partition begins."""
_LOOK = "Keep the log; let the replica learn again from its primary, or compare with the other replicas first."


def by_replica(files: Iterable[LogFile]) -> list[list[LogFile]]:
    """Returns the logs of each replica in index order."""
    ordered = sorted(files, key=lambda file: (file.replica, file.log_index))
    return [list(group) for _, group in groupby(ordered, key=lambda file: file.replica)]


def valid_offsets(files: Iterable[LogFile]) -> dict[tuple[str, int, int], int]:
    """Returns the offset from which the mutations of a replica count, by replica; 0 is left out."""
    return {
        logs[0].replica: known[-1]
        for logs in by_replica(files)
        if (known := [log.valid_offset for log in logs if log.valid_offset is not None]) and known[-1] > 0
    }


def check_files(files: Iterable[LogFile]) -> Iterator[FindingRow]:
    """Checks L1 (index, offset, CRC, partition) and the ballots of L2."""
    replicas = by_replica(files)
    valid = valid_offsets(chain.from_iterable(replicas))
    for logs in replicas:
        # where a replica that learned has begun anew, its ballots may be lower
        counting = [log.start_offset >= valid.get(log.replica, 0) for log in logs]
        for log, counts in zip(logs, counting, strict=True):
            yield from _own(log, last=log is logs[-1], counts=counts)
        for (before, log), counts in zip(pairwise(logs), counting, strict=False):
            yield from _follows(before, log, counts=counts)


def _own(log: LogFile, *, last: bool, counts: bool) -> Iterator[FindingRow]:
    # a server that restarts begins the next log where it could read the torn one
    if log.ending != LogEnd.WHOLE.value and (last or log.ending != LogEnd.TORN.value):
        words = log.problem or _INCOMPLETE.get(log.ending, "it cannot be read")
        yield rule_violation(
            "L1", ERROR, log.where, f"Log {log.where} is {log.ending}: {words}.", _LOOK, blocks=log.bad_blocks
        )
    if log.foreign:
        yield rule_violation(
            "L1", ERROR, f"{log.where}/gpid",
            f"Log {log.where} contains {log.foreign} mutations of another partition: a child must copy mutations "
            "as its own.",
            _LOOK, mutations=log.foreign,
        )  # fmt: skip
    if counts and log.ballots_back:
        yield rule_violation(
            "L2", ERROR, f"{log.where}/ballot",
            f"Log {log.where} goes back to a lower ballot {log.ballots_back} times: a later decree never has one.",
            _LOOK, mutations=log.ballots_back,
        )  # fmt: skip


def _follows(before: LogFile, log: LogFile, *, counts: bool) -> Iterator[FindingRow]:
    end = before.start_offset + before.length
    if log.log_index != before.log_index + 1 or (_is_readable(before) and not _meets(before, log)):
        yield rule_violation(
            "L1", ERROR, f"{log.where}/order",
            f"Log {log.where} does not follow {before.log}, which ends at {end}: a log between them is missing.",
            _LOOK, expected_index=before.log_index + 1, expected_offset=end,
        )  # fmt: skip
    if counts and before.max_ballot is not None and log.min_ballot is not None and log.min_ballot < before.max_ballot:
        yield rule_violation(
            "L2", ERROR, f"{log.where}/ballot",
            f"Log {log.where} begins with ballot {log.min_ballot}, {before.log} ended with {before.max_ballot}.", _LOOK,
        )  # fmt: skip


def _is_readable(log: LogFile) -> bool:
    return log.ending in {LogEnd.WHOLE.value, LogEnd.TORN.value}


def _meets(log: LogFile, following: LogFile) -> bool:
    """Returns whether the first log was read to its end, and no log is missing between the two."""
    return following.log_index == log.log_index + 1 and following.start_offset == log.start_offset + log.length


def judged_logs(files: Iterable[LogFile], facts: SplitFacts) -> list[LogFile]:
    """Returns each log with its verdict and the first reason that applies.

    This is the equivalent of HBase's ReplicationLogCleaner. A log is DELETABLE only if its replica, its child and its
    duplication no longer need it; if any of this is unknown, it is HELD. Only the oldest logs can be DELETABLE, because
    a replica server requires consecutive log indexes.

    Raises:
        UsageError: a partition of the logs is none of the split that the facts describe.
    """
    found = []
    for logs in by_replica(files):
        if logs[0].app_id == facts.app_id:
            facts.refuse_later_split(logs[0].partition, logs[0].where)
        oldest = True
        for log, following in zip(logs, [*logs[1:], None], strict=True):
            reason = _held(log, following, facts) or (None if oldest else "OLDER_LOG_HELD")
            oldest = oldest and reason is None
            found.append(replace(log, verdict=HELD if reason else DELETABLE, reason=reason or "NOT_NEEDED"))
    return found


def without_broken(files: Iterable[LogFile], errors: Iterable[FindingRow], facts: SplitFacts) -> list[LogFile]:
    """Returns the logs, and holds all of each parent and child of which one breaks a rule: its repair may need them.

    An error that names no partition holds all logs.

    Args:
        files: the result of `judged_logs`.
        errors: the findings about the logs that are errors and not acknowledged.
        facts: the facts of the table.
    """
    places = [_OF_PARTITION.match(one.subject) for one in errors]
    broken = {_group(int(place[1]), int(place[2]), facts) for place in places if place}
    return [
        replace(file, verdict=HELD, reason="RULE_BROKEN")
        if file.verdict == DELETABLE and (None in places or _group(file.app_id, file.partition, facts) in broken)
        else file
        for file in files
    ]


def _group(app_id: int, partition: int, facts: SplitFacts) -> tuple[int, int]:
    """Returns table and parent of a partition; without a known split, no log is DELETABLE."""
    return app_id, partition if facts.old_count is None else partition % facts.old_count


def _held(log: LogFile, following: LogFile | None, facts: SplitFacts) -> str | None:
    if not _is_readable(log) or (following is not None and not _meets(log, following)):
        return "BROKEN_LOG"
    if following is None:
        return "NEWEST_LOG"
    newest = log.max_decree if log.max_decree is not None else log.max_decree_before
    if newest is None:
        return "DECREES_UNKNOWN"
    newest = max(newest, following.max_decree_before or 0)  # the next header also counts what a torn end hides
    durable = facts.durable.get((log.node, log.partition))
    if log.app_id != facts.app_id or durable is None:
        return "DURABLE_UNKNOWN"
    if newest > durable:
        return "NOT_DURABLE"
    if facts.old_count is None:
        return "SPLIT_UNKNOWN"
    group = facts.group_of(log.partition)
    if group is None or group.child_ballot is None:
        return "CHILD_NOT_REGISTERED"
    if facts.duplicating is None:
        return "DUPLICATION_UNKNOWN"
    if facts.duplicating:
        confirmed = facts.confirmed.get(log.partition)
        if confirmed is None:
            return "DUPLICATION_UNKNOWN"
        if newest > confirmed:
            return "DUPLICATION_PENDING"
    return None
