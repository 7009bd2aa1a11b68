"""RocketMQ for the engine: its operations, events, laws, their model, and the durability contract."""
