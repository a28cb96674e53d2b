"""What a journal says beyond its rows: verdicts, questions to the past, two runs side by side."""
