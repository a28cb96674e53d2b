"""The one file: journal, step index, search, blobs, backups."""
