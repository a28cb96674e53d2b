"""Models that Journeyman downloads and runs itself: their table, their files and the processes that serve them.

Servers such as Ollama, which other programs run, are ordinary providers and do not belong here.
"""
