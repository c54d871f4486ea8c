"""Plans what ReplicationSyncUp would ship from a cluster that is down (plan-syncup)."""
