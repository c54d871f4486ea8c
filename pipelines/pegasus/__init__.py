"""Apache Pegasus partition split: what it should have done, and whether it did."""
