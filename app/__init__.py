"""The program: the entry point, the command line, and the process around the engine and the window.

No rules of what an agent may do, and no widgets: those are in core and ui.
"""
