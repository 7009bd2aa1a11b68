"""Operations, each in its own file."""
