"""The Overview page: the sessions that are running, waiting, or ended unseen, with their requests. It uses the cards of
`ui.ask`.
"""
