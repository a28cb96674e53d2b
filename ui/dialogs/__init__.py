"""Dialogs that belong to no particular panel, such as trust, crash, import, export and help. The dialogs for
permissions and questions are in `ui.ask`.
"""
