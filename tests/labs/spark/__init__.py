"""Runs other Sparks than that of this process: spark-submit.sh, a standalone cluster, YARN."""
