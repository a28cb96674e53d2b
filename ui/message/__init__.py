"""Components of the fields in which the user writes a message: attachments, completion and the permission mode. The
fields are in ui.composer and ui.start.
"""
