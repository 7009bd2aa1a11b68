"""What a broker answers, by what it is about."""
