"""Laws about the replication stream; one file per law."""
