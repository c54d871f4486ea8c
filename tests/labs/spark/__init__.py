"""Other Sparks than this process: spark-submit.sh, a standalone cluster, YARN."""
