"""Captures of a running pair of the user: taps, and the folder for ``pairproof judge``."""
