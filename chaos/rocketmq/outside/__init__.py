"""Observation of a broker without a trace: its files and its output, as rows like a trace's."""
