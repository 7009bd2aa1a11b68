"""What is seen of a RocketMQ pair: kinds of event by subject."""
