"""Operations of RocketMQ's clients, each in its own file."""
