"""Why nothing in a snapshot can be trusted, as one sentence: the first doubt of the rule."""

from collections.abc import Sequence

from pipelines.decide.rule.settings import Release
from pipelines.decide.rule.trust import Doubts, doubts, first_doubt
from pipelines.decide.rule.zookeeper_trust import zookeeper_doubts
from pipelines.hbase.replication_queues import QueueCell
from pipelines.hbase.zookeeper.tree import ReplicationTree
from pipelines.snapshot.model import Snapshot


def distrust_reason(snapshot: Snapshot, passes: Sequence[Sequence[QueueCell]], release: Release) -> str | None:
    """Returns why nothing in a snapshot with storage `table` can be trusted; None = it can be trusted."""
    return _sentence(doubts(snapshot, passes, release))


def zookeeper_distrust_reason(snapshot: Snapshot, trees: Sequence[ReplicationTree], release: Release) -> str | None:
    """Returns why nothing in a snapshot with storage `zookeeper` can be trusted; None = it can be trusted."""
    return _sentence(zookeeper_doubts(snapshot, trees, release))


def _sentence(asked: Doubts) -> str | None:
    found = first_doubt(asked)
    return None if found is None else found[1]
