"""Entry points of the jobs: each reads its arguments and configuration, runs one use case and returns an exit code."""
