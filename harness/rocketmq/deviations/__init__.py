"""Known deviations of RocketMQ versions from the laws, a file for each (decision 53)."""
