"""What RocketMQ means to the engine: its operations and events, the laws, the ledger they share, and the contract."""
