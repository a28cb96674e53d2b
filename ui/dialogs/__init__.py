"""Dialogs that belong to no single panel, such as trust, crash, import, export and help.

Permission and question dialogs are in `ui.ask`.
"""
