"""The Timeline tab: a waterfall chart of the steps of one run."""
