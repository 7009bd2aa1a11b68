"""Real RocketMQ: its jars, fetched by Maven, and how its programs are run."""
