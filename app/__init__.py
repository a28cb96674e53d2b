"""The program: arguments, places, assembly, threads and commands."""

__version__ = "0.1.0"
