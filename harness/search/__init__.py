"""Six searches over one type of schedule, and shrinking."""
