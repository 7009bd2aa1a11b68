"""Generic mutants: a sample of small changes that nobody wrote for a law, judged by the harness alone."""
