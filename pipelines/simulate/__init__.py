"""A generated HBase cluster: what a capture of it would have found at any instant.

For the demo, tests and benchmarks. Everything is a pure function of a `ClusterPlan` and an instant, so night N+1
follows from night N by asking for a later instant. The entry points are `pipelines.simulate.plans` and
`pipelines.simulate.capture.capture_at`.
"""
