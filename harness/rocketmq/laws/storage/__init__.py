"""Laws about log, queues and index; one file per law."""
