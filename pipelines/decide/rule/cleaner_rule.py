"""The verdict of HBase 3's own `ReplicationLogCleaner` on one file, transcribed separately from our rule.

It shares only the parsers with `pipelines.decide.rule.verdict`, so that the gate "DELETABLE implies DELETE" compares
two independent answers. Its "not fully dead" servers are HBase's: those online and crashing in the first membership,
without the directories that close the gap which docs/safety.md describes.
"""

from enum import StrEnum

from pipelines.decide.rule.cluster_view import ClusterView, MergedQueueRow
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import parse_wal_name


class HBaseVerdict(StrEnum):
    """The cleaner's answer for one file. THROWS leaves the whole directory uncleaned in that round."""

    DELETE = "DELETE"
    KEEP = "KEEP"
    THROWS = "THROWS"


def hbase_verdict(name: str, view: ClusterView) -> HBaseVerdict:
    """Returns the answer of `ReplicationLogCleaner.getDeletableFiles` for one file name."""
    everything = for_every_file(view)
    if everything is not None:
        return everything
    wal = parse_wal_name(name)
    if wal is None or wal.is_meta:
        return HBaseVerdict.DELETE
    if wal.server is None:
        return HBaseVerdict.THROWS
    return for_tracked_wal(view, wal.server, wal.group, wal.timestamp)


def hbase_2_verdict(name: str, modification_time: int, view: ClusterView) -> HBaseVerdict:
    """Returns the answer of the `ReplicationLogCleaner` of HBase 1.x and 2.x at the first reading of the queues.

    That cleaner reads the names in all queues of all peers. It deletes a file whose name is not among them and which
    was modified before the reading began. It does not parse names and does not check peers. In HBase 1.7.2 it does not
    look at the time either, and deletes younger files, too.
    """
    if view.hbase_keeps_all or name in view.queued.first_reading:
        return HBaseVerdict.KEEP
    return HBaseVerdict.DELETE if modification_time < view.queued.read_from else HBaseVerdict.KEEP


def for_every_file(view: ClusterView) -> HBaseVerdict | None:
    """Returns the answer that holds for every file name, or None if it depends on the name."""
    if view.queue_table_absent:
        return HBaseVerdict.DELETE
    if view.hbase_keeps_all:
        return HBaseVerdict.KEEP
    return None if view.peer_ids or not view.storage.asks_peers else HBaseVerdict.DELETE


def for_tracked_wal(view: ClusterView, server: ServerName, group: str, timestamp: int | None) -> HBaseVerdict:
    """Applies `filterForLiveRegionServer` and `filterForDeadRegionServer`. Timestamp (ms) None = over 64 bits."""
    alive = server in view.hbase_not_fully_dead
    all_rows = view.rows_of_source.get(server, ())
    if not all_rows:
        return HBaseVerdict.KEEP if alive else HBaseVerdict.DELETE
    for peer in view.peer_ids:
        rows = [row for row in all_rows if row.queue.peer_id == peer]
        if not rows:
            if alive:
                return HBaseVerdict.KEEP
            continue
        answer = _should_replicate(rows, group, timestamp)
        if answer is not HBaseVerdict.DELETE:
            return answer
    return HBaseVerdict.DELETE


def _should_replicate(rows: list[MergedQueueRow], group: str, timestamp: int | None) -> HBaseVerdict:
    # HBase merges the rows of one peer and source in map order; the merged need is the smallest of them
    for row in rows:
        offset = row.offsets.get(group)
        if offset is None:
            return HBaseVerdict.KEEP
        # a placeholder read from the table is not the BEGIN object that HBase looks for: it is compared like any offset
        if timestamp is None:
            return HBaseVerdict.THROWS
        if offset.should_replicate(timestamp):
            return HBaseVerdict.KEEP
    return HBaseVerdict.DELETE
