"""The main window: its menus, split view, tabs, status line, tray icon and commands. The actions of its buttons are
implemented in `ui.controllers`.
"""
