"""The judge and the explorer: history, laws, contract, schedules, searches, runs, commands."""
