"""Colors, fonts, icons and number formats, which are loaded from `resources`. Widgets are in `ui.widgets`."""
