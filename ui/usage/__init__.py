"""The Usage page: tokens, cost and model time. It only shows the figures, which are computed in `core/timeline` and
`core/store`.
"""
