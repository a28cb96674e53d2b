"""The cards and dialogs in which the user answers questions and permission requests."""
