"""Laws about what may be lost; one file per law."""
