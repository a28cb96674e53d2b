"""The Usage page: tokens, cost and model time.

The figures are computed in `core/timeline` and `core/store`; this folder only shows them.
"""
