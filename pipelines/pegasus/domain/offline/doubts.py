"""Turns the doubts about an offline split into findings. An error means that the output may lack rows."""

from collections.abc import Iterator, Sequence

from pipelines.common.human import human_count
from pipelines.lake.findings import ERROR
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.audit_log.files import check_files
from pipelines.pegasus.domain.offline.copies import CopyProblem
from pipelines.pegasus.domain.offline.model import OldPartition, PartitionResult
from pipelines.pegasus.domain.rule_violations import rule_violation

_COPIES = {
    CopyProblem.OWNER_LACKS: ("D1", "their own partition does not have"),
    CopyProblem.FOREIGN: ("D3", "never belonged to the partition that has them"),
    CopyProblem.NEWER: ("D5", "may be newer than the rows of their own partition"),
}
_COMPARE = "Compare --from and --created-with with `app <name> -d`, and look at the rows with split-verify."
_COMPACT = (
    f"{_COMPARE} After an online split such rows are ordinary until a compaction: verify the split, let "
    "pegasus_manual_compact.sh compact the table, and take the data again (docs/split-run.md, What is refused)."
)


def doubts_of(
    app: str, sources: Sequence[OldPartition], parts: Sequence[PartitionResult], *, of_replicas: bool
) -> Iterator[FindingRow]:
    """Yields the findings of a split; for the arguments see `input_doubts`."""
    yield from input_doubts(app, sources, parts, of_replicas=of_replicas)
    yield from _unproven_copies(app, parts)
    yield from _wrong_count(app, parts)
    yield from _malformed(app, parts)


def input_doubts(
    app: str, sources: Sequence[OldPartition], parts: Sequence[PartitionResult], *, of_replicas: bool
) -> Iterator[FindingRow]:
    """Yields the findings about logs and files, which a split and an export share.

    Args:
        app: the name of the table.
        sources: the old partitions of the table.
        parts: the results of these partitions.
        of_replicas: whether the sources are directories of replica servers, which have logs.
    """
    yield from check_files(log for part in parts for log in part.logs)
    yield from _unproven_logs(app, parts)
    logged = {part.partition for part in parts if part.logs}
    bare = [source for source in sources if of_replicas and source.partition not in logged]
    if bare:
        yield rule_violation(
            "L6", ERROR, f"{app}/{len(bare)}",
            f"Table {app}: {human_count(len(bare), 'replica')} without a log in plog, such as {bare[0].database}: "
            "writes after the flushed data are not in the output.",
            "Copy the plog of each replica too; if the table was flushed before its servers stopped, acknowledge this "
            "finding.",
            replicas=len(bare),
        )  # fmt: skip
    unknown = [source for source in sources if source.lacks_init_info]
    if unknown:
        yield rule_violation(
            "R4", ERROR, f"{app}/{len(unknown)}",
            f"Table {app}: {human_count(len(unknown), 'replica')} without .init-info, such as that of "
            f"{unknown[0].database}: Pegasus does not open such a replica. The data may be incomplete, or mutations of "
            "the log may be older than the data.",
            "Copy each replica with everything in its directory (`cp -r dir/*` leaves out .init-info), or take the "
            "replica of another server.",
            replicas=len(unknown),
        )  # fmt: skip
    # a cold backup has one file for all partitions
    unread = list(dict.fromkeys(source.unread for source in sources if source.unread is not None))
    if unread:
        yield rule_violation(
            "R1", ERROR, f"{app}/{len(sources)}",
            f"Table {app}: {human_count(len(unread), 'file')} could not be read, so the given number of "
            f"partitions, {len(sources)}, was not compared with it: {unread[0]}. If the table has more partitions, the "
            "rows of the others are not in the output.",
            "Copy the file too, or compare the number with `app <name> -d`; if it is right, acknowledge this finding.",
            files=len(unread),
        )  # fmt: skip


def _unproven_logs(app: str, parts: Sequence[PartitionResult]) -> Iterator[FindingRow]:
    for part in parts:
        if part.left_out:
            yield rule_violation(
                "L2", ERROR, f"{app}/{part.partition}/{len(part.left_out)}",
                f"Table {app}, partition {part.partition}: {human_count(len(part.left_out), 'prepared mutation')}, "
                f"first decree {part.left_out[0]}, are not in the output: a decree before them is missing or has a "
                f"higher ballot. The output ends with decree {part.committed}.",
                "Compare with the logs of the other replicas; if they too end there, acknowledge this finding.",
                left_out=part.left_out[:100],
            )  # fmt: skip


def _unproven_copies(app: str, parts: Sequence[PartitionResult]) -> Iterator[FindingRow]:
    for problem, (rule, words) in _COPIES.items():
        found = [(part.partition, copies) for part in parts for copies in part.copies if copies.problem is problem]
        rows = sum(copies.rows for _, copies in found)
        if rows:
            samples = [f"partition {index}: {key}" for index, copies in found for key in copies.samples]
            yield rule_violation(
                rule, ERROR, f"{app}/{rows}",  # who acknowledges two rows does not mean two thousand
                f"Table {app}: {human_count(rows, 'row')} that {words}, so leaving them out may lose data. The first: "
                f"{samples[0]}.",
                _COMPACT if problem is CopyProblem.OWNER_LACKS else _COMPARE,
                rows=rows, partitions=sorted({index for index, _ in found})[:100], samples=samples[:20],
            )  # fmt: skip


def _malformed(app: str, parts: Sequence[PartitionResult]) -> Iterator[FindingRow]:
    rows = sum(part.malformed for part in parts)
    if rows:
        yield rule_violation(
            "D6", ERROR, f"{app}/{rows}",
            f"Table {app}: {human_count(rows, 'row')} with a key or value that Pegasus does not write, which the "
            "output would not have.",
            "Look at them: split-export keeps them, and split-verify --lake lists those of an export in split_diff. If "
            "they may be left out, acknowledge this finding. If they come from --rows, check --data-version.",
            rows=rows, partitions=sorted(part.partition for part in parts if part.malformed)[:100],
        )  # fmt: skip


def _wrong_count(app: str, parts: Sequence[PartitionResult]) -> Iterator[FindingRow]:
    """Yields the signs that the table has another number of partitions."""
    empty = sorted(part.partition for part in parts if not part.owned + part.stale)
    crowded = sorted(part.partition for part in parts if part.stale > part.owned)
    if crowded:
        yield rule_violation(
            "D7", ERROR, f"{app}/stale/{len(crowded)}",
            f"Table {app}: by --from, more than half of the rows of {human_count(len(crowded), 'partition')}, such as "
            f"{crowded[0]}, belong to other partitions.",
            _COMPACT, partitions=crowded[:100],
        )  # fmt: skip
    if empty:
        yield rule_violation(
            "D7", ERROR, f"{app}/empty/{len(empty)}",
            f"Table {app}: {human_count(len(empty), 'partition')} without a row, such as {empty[0]}.",
            "Compare --from with `app <name> -d`; if these partitions are empty, acknowledge this finding.",
            partitions=empty[:100],
        )  # fmt: skip
