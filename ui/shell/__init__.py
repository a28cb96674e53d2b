"""The main window: its menus, split view, tabs, status line, tray icon and commands.

What the buttons do is in `ui.controllers`.
"""
