"""Laws about commit logs, queues, indexes and checkpoints."""
