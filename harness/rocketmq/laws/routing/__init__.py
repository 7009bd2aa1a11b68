"""Laws about routes, the choice of brokers, and clients' pace."""
