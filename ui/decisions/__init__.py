"""The Decisions tab of a session: approvals, answers, decisions and issues, each with its cause."""
