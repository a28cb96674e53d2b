"""What a person can set, and what is kept of them."""
