"""Imports PySide6 for a quick start."""

import builtins
import gc
import importlib


def import_qt() -> None:
    """Import PySide6 without its import hook. Also stop garbage collection until `DesktopApp` starts it again.

    The hook reads the source of every module imported later, for a feature that we do not use.
    """
    gc.disable()
    original_import = builtins.__import__
    importlib.import_module("PySide6.QtCore")
    builtins.__import__ = original_import
