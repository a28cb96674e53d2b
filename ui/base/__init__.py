"""What all panels are based on: pages, the selection, the event feed, tasks, and the bridge to the engine. Panels and
the window are in other packages.
"""
