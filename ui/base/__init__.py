"""The base of all panels: pages, the selection, the event feed, tasks and the bridge to the engine.

Panels and the window are in their own packages.
"""
