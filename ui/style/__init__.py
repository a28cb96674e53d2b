"""Colors, fonts, icons and number formats, loaded from `resources`.

Widgets are in `ui.widgets`.
"""
