"""Labs of real processes: brokers, a name server and toxiproxy on one machine."""
