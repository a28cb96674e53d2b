"""Markdown and other text as Qt documents that load nothing from disk or network. The modules here know nothing of
sessions and steps.
"""
