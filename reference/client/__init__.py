"""Producers and readers of a broker."""
