"""The Skills page: the list of skills and an editor for the selected one."""
