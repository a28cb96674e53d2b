"""The sidebar with the list of sessions."""
