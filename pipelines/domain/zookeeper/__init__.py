"""Replication queues of HBase 1.x and 2.x, which are znodes: their bytes, their names, the tree, and the rule on it."""
