"""What kills, full disks and power cuts do to the data: real processes, with faults put into their system calls."""
