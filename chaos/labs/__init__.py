"""Where targets run."""
