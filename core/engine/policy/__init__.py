"""Permission policy: rules, grants, folder trust, untrusted content and the checks of a tool call.

Nothing here runs a tool or asks the user; `core.engine.run` does.
"""
