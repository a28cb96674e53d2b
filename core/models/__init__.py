"""Model providers: API formats, streaming, errors, prices and the catalog of models.

Nothing here knows about runs, tools or permissions; `core.engine` decides what to send and when to retry.
"""
