"""The page of skills: the list, and an editor for one of them."""
