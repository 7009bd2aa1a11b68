"""Event types, each a class with typed columns, in files by subject."""
