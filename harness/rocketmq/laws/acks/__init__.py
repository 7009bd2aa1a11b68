"""Laws about acknowledgements; one file per law."""
