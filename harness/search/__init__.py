"""Six searches over one kind of schedule, and what makes a failing one small."""
