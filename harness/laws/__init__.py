"""One file per law."""
