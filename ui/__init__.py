"""The desktop window: panels that show the event log, and controllers that call the engine.

It contains no agent logic, which lives in `core`, and no process startup, which lives in `app`.
"""
