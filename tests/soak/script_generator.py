"""Random scripts for the scripted model; every command writes a unique mark."""

import json
import random
from typing import Any

CANARY = "canary-7f31c0de-never-written"
FAULTS = (
    {"fault": "rate_limited", "retry_after_s": 0},
    {"fault": "server_error"},
    {"fault": "cut", "after_chars": 5, "text": "half of it"},
)


class ScriptGenerator:
    """Generates scripts from one seed; commands try to reach `port` of this machine."""

    def __init__(self, chance: random.Random, port: int) -> None:
        self._chance, self._port = chance, port
        self._marks = 0

    def make_script(self) -> str:
        """Return a finite script with random kinds of turns, as JSON."""
        chance = self._chance
        replies = [self._round() for _ in range(chance.randint(1, 7))]
        whole: dict[str, Any] = {"replies": [*replies, {"text": "All done."}]}
        if chance.random() < 0.3:
            whole |= {"window": 9000, "roles": {"summary": [{"text": "What was done."}]}}
        return json.dumps(whole)

    def _round(self) -> dict[str, Any]:
        chance = self._chance
        kind = chance.choice(("act", "act", "act", "two", "words", "fault", "ask", "large", "out", "write"))
        words = {"text": "I work on it. " * chance.choice((1, 5, 400)), "chunks": chance.randint(1, 12)}
        if kind == "words":
            return words | {"reasoning": "Let me think.", "calls": [_call("todo", items=[])]}
        if kind == "fault":
            return dict(chance.choice(FAULTS))
        if kind == "ask":
            return {"calls": [_call("ask_user", question="Which?", options=[{"label": "A"}, {"label": "B"}])]}
        if kind == "two":
            return words | {"calls": [self._act(), self._act()]}
        if kind == "large":
            return {"calls": [_call("run", command=f"{self._mark()}; seq {chance.randint(1, 30_000)}")]}
        if kind == "out":
            get_out = f"exec 3<>/dev/tcp/127.0.0.1/{self._port} && echo out; env; cat /proc/*/environ"
            return {"calls": [_call("run", command=f"{self._mark()}; bash -c {json.dumps(get_out)}; true")]}
        if kind == "write":
            name = f"{chance.randint(1, 9)}.txt"
            return {"calls": [_call("write", path=name, content="line\n" * chance.randint(1, 4_000))]}
        return words | {"calls": [self._act()]}

    def _act(self) -> dict[str, Any]:
        nap = self._chance.choice(("true", "sleep 0.05", "sleep 0.4", "(sleep 30 &)"))
        return _call("run", command=f"{self._mark()}; {nap}")

    def _mark(self) -> str:
        self._marks += 1
        return f"echo mark-{self._marks} >> effects"


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}
