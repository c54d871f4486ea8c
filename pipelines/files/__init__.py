"""Access to files on the local disk and on Hadoop file systems, from the driver and from executors."""
