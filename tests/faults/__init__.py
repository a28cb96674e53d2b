"""Fault tests: kills, full disks and power cuts, injected into the system calls of real processes."""
