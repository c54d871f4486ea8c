"""What a job tells other systems when it ends: metrics, and messages to people."""
