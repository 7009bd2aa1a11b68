"""What clients of RocketMQ do: each operation in a file of its own."""
