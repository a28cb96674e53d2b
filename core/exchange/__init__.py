"""Import, export, live following and tracing of sessions.

The formats are in `exporters` and `importers`. The event log itself is read and written by `core.store`; the dialogs
and commands are in `ui` and `app`.
"""
