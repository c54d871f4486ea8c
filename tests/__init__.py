"""The test suite: ./tests/run."""
