"""Numbered schema migrations, each applied once, in one transaction."""
