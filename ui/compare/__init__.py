"""The Compare page, which shows two sessions side by side.

The alignment of their steps is computed in `core/timeline`.
"""
