"""Turns the doubts about an offline split into findings of severity warning."""

from collections.abc import Iterator, Sequence

from pipelines.common.human import human_count
from pipelines.lake.findings import WARNING
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.offline.plan import OldPartition, PartitionResult
from pipelines.pegasus.domain.report import rule_violation


def doubts_of(
    app: str, sources: Sequence[OldPartition], parts: Sequence[PartitionResult], *, of_replicas: bool
) -> Iterator[FindingRow]:
    """Yields warnings: malformed keys, replicas without a private log, unreadable files with the partition count.

    Args:
        app: the name of the table.
        sources: the old partitions of the table.
        parts: the results of these partitions.
        of_replicas: whether the sources are directories of replica servers, which have logs.
    """
    malformed = sum(part.malformed for part in parts)
    if malformed:
        yield rule_violation(
            "D6", WARNING, app,
            f"Table {app}: {human_count(malformed, 'row')} with a key that Pegasus does not write: no partition owns "
            "it, and it is not in the output.",
            "Look at them before the old data are removed.", rows=malformed,
        )  # fmt: skip
    bare = [source for source in sources if of_replicas and source.logs is None]
    if bare:
        yield rule_violation(
            "L6", WARNING, app,
            f"Table {app}: {human_count(len(bare), 'replica')} without plog, such as {bare[0].database}: writes after "
            "the flushed data are not in the output.",
            "Copy the plog of each replica too, or flush the table before its servers stop.", replicas=len(bare),
        )  # fmt: skip
    unread = [source for source in sources if source.unread is not None]
    if unread:
        yield rule_violation(
            "R1", WARNING, app,
            f"Table {app}: {human_count(len(unread), 'file')} could not be read, so --from was not compared with the "
            f"count in it: {unread[0].unread}.",
            "Compare --from with `app <name> -d`.", files=len(unread),
        )  # fmt: skip
