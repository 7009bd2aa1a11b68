"""Operations of RocketMQ's clients, each in a file of its own."""
