"""Evaluates real models with small tasks: how many the agent solves, and at what cost."""
