"""The argument parser of the command line, one file per group of commands.

What the commands do is in `app.commands`.
"""
