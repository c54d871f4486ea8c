"""The laboratories of the tests: real systems, models in memory, and small clusters that many tests share."""
