"""The parts of fields in which the user writes a message: attachments, completions and the permission mode.

The fields themselves are in ui.composer and ui.start.
"""
