"""What a session has taught: looked back at afterwards, by a small run of its own, and only proposed."""
