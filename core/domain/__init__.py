"""Events and the values derived from them: pure data and functions that need only the standard library.

No I/O lives here; storage is in `core.store`.
"""
