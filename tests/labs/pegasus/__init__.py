"""Small Pegasus tables: their rows, states, logs and replicas."""
