"""Model servers on loopback: scripted ones for faults, and real ones that others wrote."""
