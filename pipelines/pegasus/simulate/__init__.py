"""Simulates a partition split: one group of replicas, its meta server and its clients."""
