"""The desktop window: panels that show the event log, and controllers that call the engine. The logic of agents is in
`core`, the startup of the process in `app`.
"""
