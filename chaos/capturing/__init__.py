"""Captures of a running pair that somebody else started: taps, and the folder that ``pairproof judge`` reads."""
