"""What a history says is known of a RocketMQ pair: state derived once per trial, which laws query."""
