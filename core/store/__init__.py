"""The SQLite data file: event log, step index, full-text search, blobs, migrations and backups."""
