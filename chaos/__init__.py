"""Faults, labs, targets, observers and mutants."""
