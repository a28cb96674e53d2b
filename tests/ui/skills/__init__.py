"""The page of skills."""
