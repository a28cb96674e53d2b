"""Controllers that connect the signals of the window with the engine, and show the results. Widgets are defined in
other packages.
"""
