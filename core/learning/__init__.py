"""Learning from sessions: after a session, a small separate run reviews it and proposes memories and skills."""
