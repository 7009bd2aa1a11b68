"""One file per law, in packages named after the catalogue's groups."""
