"""One trial: its schedule, its operations and faults, and the interpreter that plays it in a lab."""
