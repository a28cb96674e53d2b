"""Everything that works without a window: events, storage, models, tools and the engine.

Nothing here imports Qt.
"""

__version__ = "0.1.0"
