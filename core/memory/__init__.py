"""Long-term memory: saving, searching, ranking, recalling and archiving what is remembered across sessions."""
