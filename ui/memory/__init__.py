"""The Memory page: the memories, and the proposals for new or changed ones."""
