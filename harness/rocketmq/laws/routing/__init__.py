"""Laws about routes, and how clients choose brokers; one file per law."""
