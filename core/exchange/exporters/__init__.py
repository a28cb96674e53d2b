"""The export formats, one module each. The code that writes an export to a file is in `core.exchange`."""
