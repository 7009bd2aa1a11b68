"""Texts for people: quoting, wording and printing."""
