"""The composer: the message field, its attachments, and the queue of unsent messages."""
