"""The models that try to break walsafe, and the clusters of tests and benchmarks.

`capture` plays HBase replication and walsafe's capture against each other, `split` plays a partition split of Apache
Pegasus. `search` is the breadth-first search of both, `walk` plays the models of `capture` by seed, and `commands`
starts everything (./tests/run --search). `drawn`, `healthy` and `large` make clusters from the parts of the demo's
cluster (`jobs/demo/cluster`), `truth` computes what such a cluster still needs, and `oddities` is the list of traps.
"""
