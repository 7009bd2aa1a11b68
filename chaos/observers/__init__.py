"""Observers: taps, store readers and captures. They decode with their own code, never the judged broker's."""
