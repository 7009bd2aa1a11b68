"""What can be said of a broker that traces nothing: its files and its output, as rows like a trace's."""
