"""Laws about brokers' answers to queries, conversations and invalid requests."""
