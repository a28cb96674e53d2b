"""The Timeline tab: the steps of a run as bars on a ruler."""
