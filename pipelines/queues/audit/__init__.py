"""Classifies every replication queue, reconstructs when it was claimed and plans how its orphans can be claimed."""
