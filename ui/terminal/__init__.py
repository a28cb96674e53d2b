"""The Terminal tab: the commands of a session, each with its output. It starts no commands and no shell of its own."""
