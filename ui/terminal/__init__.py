"""The Terminal tab: the commands of a session, each with its output. It only shows them; it runs no commands and no
shell itself.
"""
