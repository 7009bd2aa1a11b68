"""Laws, what is known, and the judge that feeds both; verdicts and known deviations."""
