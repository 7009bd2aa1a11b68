"""Labs of containers: brokers, a name server and toxiproxy, each in one, on a network of their own."""
