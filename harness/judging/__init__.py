"""Laws, models and the judge that feeds both; verdicts and known deviations."""
