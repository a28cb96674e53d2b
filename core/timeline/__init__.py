"""Analysis of recorded sessions: run summaries, queries, comparisons, diffs and usage statistics.

All of this is computed from events and never stored. The rows of the timeline come from `core.domain.steps`.
"""
