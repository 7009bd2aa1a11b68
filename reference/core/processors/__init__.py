"""Request processors of a broker, by topic."""
