"""Runs sans-IO nodes for real: asyncio, non-blocking sockets, memory-mapped files, one thread for flushes."""
