"""Plug-ins for pairproof from another repository: nothing here imports more than ``pairproof``'s public names."""
