"""Importers of transcripts, one module for each program. Storing the imported events belongs to `core.exchange`."""
