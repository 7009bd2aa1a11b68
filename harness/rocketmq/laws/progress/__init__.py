"""Laws about consumers' progress; one file per law."""
