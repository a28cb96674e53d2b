"""Runs: worked, stopped, resumed."""
