"""The program: arguments, places, assembly, threads and commands."""
