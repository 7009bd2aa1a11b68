"""Runs sans-IO nodes on asyncio, non-blocking sockets, memory-mapped files, and one thread for flushes."""
