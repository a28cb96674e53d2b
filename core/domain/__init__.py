"""What can happen and what it means, in the standard library alone."""
