"""Analysis of recorded sessions: run summaries, queries, comparisons, diffs and usage statistics.

Everything is computed from events and never stored; folding events into rows is in `core.domain.steps`.
"""
