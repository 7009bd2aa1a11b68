"""Laws about roles of brokers; one file per law."""
