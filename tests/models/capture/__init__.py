"""Simulates HBase replication and walsafe's capture step by step, in every order, and tries to lose data.

The cluster (`world`, with its actions in `servers`, `master`, `peers`, `cleaner`) and the capture (`capture`) take
turns at any point between two atomic actions. The capture's readings go through the project's own rule (`judge`); the
model itself knows what the cluster still needs (`world.first_needed`). A WAL that is needed and DELETABLE is a loss.
`search` looks for a loss breadth-first, `walk` by seed; `mutants` weakens the capture or the rule one piece at a time,
and the search must find out each mutant (docs/proof.md).
"""
