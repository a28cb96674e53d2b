"""Widgets and painting functions that several panels share.

Widgets that only one panel uses live in the folder of that panel.
"""
