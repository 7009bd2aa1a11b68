"""Observers: taps, store readers and captures. They decode with code of their own, never the judged broker's."""
