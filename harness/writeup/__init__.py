"""A finding written up for the people who maintain the system it is about."""
