"""Redis 7.0 under pairproof: a primary (``master``) and its replica (``slave``)."""
