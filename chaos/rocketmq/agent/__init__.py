"""A Java agent for brokers of RocketMQ, for access to their internals. Optional; see decision 61."""
