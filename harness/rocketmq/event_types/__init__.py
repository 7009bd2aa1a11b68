"""Event types of a RocketMQ pair, in files by subject."""
