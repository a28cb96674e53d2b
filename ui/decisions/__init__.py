"""The Decisions tab of a session: approvals, answers, decisions and issues with their causes."""
