"""Partition split as an executable model: one group of replicas, its meta server and its clients."""
