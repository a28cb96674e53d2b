"""Import, export, live following and tracing of sessions.

The export and import formats live in `exporters` and `importers`. Reading and writing the event log itself belongs to
`core.store`, the dialogs and commands to `ui` and `app`.
"""
