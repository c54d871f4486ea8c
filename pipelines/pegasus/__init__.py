"""Apache Pegasus partition split: plans, audits, verifies and simulates it, and splits tables offline."""
