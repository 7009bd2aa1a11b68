"""Commands that need a lab, a target or real bytes."""
