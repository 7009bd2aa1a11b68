"""Laws about answers to questions and invalid requests; one file per law."""
