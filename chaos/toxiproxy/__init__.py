"""Toxiproxy as a real component: where its server is or how it is built, how it starts, and its proxies and toxics."""
