"""Markdown and other text as Qt documents that load nothing from disk or network.

Nothing here knows sessions or steps.
"""
