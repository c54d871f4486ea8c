"""Makes the same attempt for queues in ZooKeeper (HBase 1.x and 2.x), where every WAL of a queue is a separate znode.

`world` is the cluster at one instant with the znodes below `rs`; `servers`, `claims`, `peers` and `quorum` act on it;
`capture` reads what `ZooKeeperQueues` reads, one znode at a time; `judge` asks the real rule (docs/proof.md).
"""
