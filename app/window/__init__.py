"""Starting the desktop app: the Qt application, the engine thread, the crash reporter and the stall log.

The window itself is in `ui.shell`.
"""
