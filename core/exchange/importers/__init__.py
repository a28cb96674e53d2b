"""Importers of transcripts, one module for each program. Storing what they read belongs to `core.exchange`."""
