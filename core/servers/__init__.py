"""Tool servers: programs of others that bring tools, spoken to by the Model Context Protocol."""
