"""What versions of RocketMQ are known to do although a law forbids it, a file for each (decision 53)."""
