"""What state every replication queue is in, who claimed it when, and how its orphans can be claimed."""
