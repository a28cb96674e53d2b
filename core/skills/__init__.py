"""Skills: read and written as the open format says, kept with every version, found where people put them."""
