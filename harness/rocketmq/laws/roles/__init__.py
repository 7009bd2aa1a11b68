"""Laws about the roles of master and slave."""
