"""Brokers as plain objects: commit log, HA master and slave, flushing, queues."""
