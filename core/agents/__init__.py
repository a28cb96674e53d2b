"""Agents of others: programs that work in a folder of a person's, spoken to by the Agent Client Protocol."""
