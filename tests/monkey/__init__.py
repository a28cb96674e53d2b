"""A monkey test: random actions in the real window, by mouse and by keyboard, in an order determined by a seed."""
