"""The demo's generated HBase cluster: what a capture of it would have found at any instant.

Everything is a pure function of a `ClusterPlan` and an instant, so night N+1 follows from night N by asking for a later
instant. The entry points are `jobs.demo.cluster.plans` and `jobs.demo.cluster.capture.capture_at`. Tests and benchmarks
take their clusters from here too, with what `tests/models` adds.
"""
