"""One file for each program whose transcripts are read."""
