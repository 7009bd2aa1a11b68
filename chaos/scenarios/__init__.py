"""Scenarios: questions of users of master/slave replication, as files that run in every lab."""
