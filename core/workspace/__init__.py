"""The folder an agent works in and the processes it starts there."""
