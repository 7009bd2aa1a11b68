"""RocketMQ to a lab: its nodes and how they are run, its clients, and what is read of it."""
