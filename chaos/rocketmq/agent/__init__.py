"""A Java agent for brokers of RocketMQ: what only the inside can do. Optional; see decision 61."""
