"""Container labs: brokers, a name server and toxiproxy in one container each, on their own network."""
