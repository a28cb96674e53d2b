"""The program: the entry point, the command line, and the process around the engine and the window.

What agents may do is decided in `core`; the widgets are in `ui`.
"""
