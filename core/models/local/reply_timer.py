"""Measures how fast a model reads its prompt and writes its reply."""

import time

from core.domain.event_values import Usage
from core.models.local.model_state import ModelSpeed
from core.models.model import ReplyDelta

MIN_PROMPT, MIN_REPLY = 100, 16  # least tokens for which the speed is measured


class ReplyTimer:
    """Measures one reply. Create it when the request is sent, and add each delta of the reply."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first = self._last = 0.0
        self._usage = Usage()
        self._has_calls = False

    def add(self, delta: ReplyDelta) -> None:
        self._usage = delta.usage or self._usage
        self._has_calls = self._has_calls or bool(delta.calls)
        if delta.text or delta.reasoning:
            self._last = time.monotonic()
            self._first = self._first or self._last

    def speed(self) -> ModelSpeed:
        """Return the speeds; 0 if the reply is too short, or contains calls, whose tokens do not arrive one by one."""
        usage = self._usage
        read, written = usage.input - usage.cache_read, usage.output - 1
        prompt_s, reply_s = self._first - self._started, self._last - self._first
        prompt = read / prompt_s if read >= MIN_PROMPT and prompt_s > 0 else 0.0
        reply = written / reply_s if written >= MIN_REPLY and reply_s > 0 and not self._has_calls else 0.0
        return ModelSpeed(round(prompt, 1), round(reply, 1))
