"""Operations, a file each."""
