"""Laws about consumers' progress."""
