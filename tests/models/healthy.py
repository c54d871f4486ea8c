"""Makes the twin of the demo's cluster, in which nothing is wrong."""

from jobs.demo.cluster.model import Claim, ClusterPlan, PeerPlan
from jobs.demo.cluster.parts import SYNC_PEER, active_master, meta_stream, new_life, new_peer, peer_lags, with_streams
from jobs.demo.cluster.plans import PAST, SERVERS
from pipelines.common.instants import DAY_MS, MINUTE_MS


def healthy_plan(first_night: int) -> ClusterPlan:
    """Returns the demo's cluster with nothing wrong: there is no finding, and no file is held that no peer needs.

    Every peer is enabled and minutes behind, HBase's cleaner runs, and a server that crashed 3 days ago has been
    recovered and its queues finished.
    """
    past = first_night - PAST
    lives = [new_life(host, past - 30 * DAY_MS, past, regiongroups=2 if host > 20 else 1) for host in range(1, SERVERS)]
    crashed = first_night - 3 * DAY_MS
    claims = (Claim(crashed + 3 * MINUTE_MS, lives[0].server),)
    lives.append(new_life(SERVERS, past, past, crashed, crashed + 2 * MINUTE_MS, claims=claims))
    lives[1] = with_streams(lives[1], meta_stream(lives[1].server, past))
    peers = tuple(PeerPlan(new_peer(name), lag) for name, lag in peer_lags().items() if name != SYNC_PEER)
    return ClusterPlan("healthy", 7, "hdfs://healthy/hbase", active_master(past), tuple(lives), peers)
