"""Find and do: every command and every session from one field."""
