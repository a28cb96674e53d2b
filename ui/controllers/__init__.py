"""Controllers that connect the window's signals with the engine and show the results.

Widgets are elsewhere; controllers create no layout.
"""
