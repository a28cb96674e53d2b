"""End-to-end tests of the real program in real processes and on a virtual screen."""
