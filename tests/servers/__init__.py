"""Servers and external agents for tests: scripted ones on loopback, and real ones by other developers."""
