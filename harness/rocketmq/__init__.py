"""What RocketMQ means to the engine: its operations and events, the laws, the model they share, and the contract."""
