"""Shared parts of labs with real sockets, processes and files."""
