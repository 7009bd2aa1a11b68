"""RocketMQ for labs: its nodes and programs, its clients, and readers of its stores and answers."""
