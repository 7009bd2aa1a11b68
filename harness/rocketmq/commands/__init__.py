"""Commands about RocketMQ trials."""
