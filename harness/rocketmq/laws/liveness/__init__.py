"""Laws about what must happen in time; one file per law."""
