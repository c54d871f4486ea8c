"""The laboratories of the tests: real systems, worlds in memory, and small clusters that many tests share."""
