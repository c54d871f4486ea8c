"""Shows one queue of the demo's last night as dump-queues does, without Spark."""

from jobs.demo.cluster.model import GeneratedCapture
from pipelines.decide.rule.cluster_view import MergedQueueRow, merge_passes
from pipelines.hbase.replication_queues import parse_queue_cells
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.queues.dump.table_queues import table_dump
from pipelines.queues.dump.text import distributed_text
from pipelines.queues.wals.rows import InspectedFile
from pipelines.snapshot.model import complete_before

DUMP_TITLE = "A queue of the disabled peer, in the words of HBase's DumpReplicationQueues (its WALs left out)"
_POSITION = " Replication position for "


def queue_lines(made: GeneratedCapture, peer_id: str) -> list[str]:
    """Returns the output of `dump-queues --distributed --hdfs` for one queue of a peer, preferably a claimed one.

    Args:
        made: the capture of a night, with queues in the table.
        peer_id: a peer that has a queue.
    """
    rows = merge_passes([parse_queue_cells(made.pass_2)])
    row = max((one for one in rows if one.queue.peer_id == peer_id), key=_claimed_first)
    groups = tuple(f"{group}." for group in row.offsets)
    named = [(file.path, file.length, file.path.rpartition("/")[2]) for file in made.files]
    parsed = [(path, length, parse_wal_name(name)) for path, length, name in named if name.startswith(groups)]
    files = [InspectedFile(path, name, length) for path, length, name in parsed if name is not None]
    complete = complete_before(made.snapshot.files_step.started_at)
    dump = table_dump((), [row], {}, files, made.snapshot.peers, None, complete)
    queue, _, _ = distributed_text(dump, made.snapshot.wal_root, sizes=True).partition("\n\n")
    return [line for line in queue.splitlines() if not line.startswith(_POSITION)]


def _claimed_first(row: MergedQueueRow) -> tuple[bool, str]:
    return row.queue.source is not None, str(row.queue)
