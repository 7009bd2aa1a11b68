"""Laws about tables and their copies; one file per law."""
