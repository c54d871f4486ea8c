"""A simulator that tries to lose data: HBase replication and walsafe's capture, step by step, in every order.

The cluster (`world`, with its actions in `servers`, `master`, `peers`, `cleaner`) and the capture (`capture`) take
turns at any point between two atomic actions. What the capture saw goes through the project's own rule (`judge`);
what the cluster still needs is the model's own knowledge (`world.first_needed`). A WAL that is needed and DELETABLE is
a loss. `search` looks for one breadth-first, `walk` by seed; `mutants` weakens the capture or the rule one piece at a
time, and each must be found out (docs/proof.md).
"""
