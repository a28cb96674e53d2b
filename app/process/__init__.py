"""The process: data folder, lock, command server, output, exit codes, crash reports and the creation of the services.

Commands are in `app.commands`, the window in `app.window`.
"""
