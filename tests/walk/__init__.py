"""A long walk through the real window, by mouse and by keys, in an order that a seed decides."""
