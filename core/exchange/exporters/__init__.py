"""The export formats, one module each. Writing an export to a file belongs to `core.exchange`."""
