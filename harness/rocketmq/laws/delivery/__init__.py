"""Laws about delivery to consumers; one file per law."""
