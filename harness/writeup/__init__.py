"""Write-ups of findings for the maintainers of the affected system."""
