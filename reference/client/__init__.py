"""Producers and readers that speak to a broker."""
