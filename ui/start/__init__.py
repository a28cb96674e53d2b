"""The first thing a new person sees."""
