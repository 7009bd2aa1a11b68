"""Scenarios: what a user of master/slave replication wants to know, as files that run in every lab."""
