"""Toxiproxy as a real component: its installation, its start, and its proxies and toxics."""
