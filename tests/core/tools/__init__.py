"""What an agent can do, in temporary folders."""
