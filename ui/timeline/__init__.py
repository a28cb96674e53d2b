"""The run page: the live list of steps, the step pane, the minimap and the waterfall chart.

The panels for changes, context and decisions are in other folders; `ui.shell.session_view` adds them as tabs.
"""
