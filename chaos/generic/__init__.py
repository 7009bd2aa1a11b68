"""Generic mutants: a sample of small changes that nobody chose, judged by the harness alone."""
