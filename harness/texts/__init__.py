"""Texts that people read: what may be shown, quoted and printed."""
