"""One file for each format a session leaves in."""
