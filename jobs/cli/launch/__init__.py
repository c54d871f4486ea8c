"""The client side: what `spark-submit.sh` and the command `walsafe` do before and beside the driver."""
