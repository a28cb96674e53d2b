"""Writes the batches of another program's transcript to the journal."""

from core.exchange.transcript_reader import ImportBatch
from core.store.journal import Journal


class TranscriptWriter:
    """Writes the batches of one transcript.

    Once a batch could not be written, all later batches are skipped: they would store a read position beyond it.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.intact = True

    async def write(self, batch: ImportBatch) -> int:
        """Write a batch. Return the number of new events, 0 if the batch was skipped."""
        if not self.intact:
            return 0
        self.intact = False
        for session, session_batch in batch.events.items():
            await self._journal.append_batch(session, session_batch)
        self.intact = True
        return batch.added
