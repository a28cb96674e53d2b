"""Generates a synthetic Claude Code transcript of any size; the same size gives the same file."""

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SESSION = "5e55a9e0-0000-4000-8000-000000000001"
TOOLS = (("Bash", "command"), ("Read", "file_path"), ("Grep", "pattern"))
WORDS = [
    "".join(random.Random(n).choices("abcdefghijklmnopqrstuvwxyz_", k=3 + n % 9)) for n in range(4000)
]  # a vocabulary as large as that of a project's code


def write_transcript(folder: Path, size: int) -> Path:
    """Write a transcript of at least `size` bytes and return its path.

    As in real transcripts, about 44 of 100 lines report progress, and a result is repeated within its line.
    """
    path = folder / f"{SESSION}.jsonl"
    chance = random.Random(size)
    with path.open("w", encoding="utf-8") as file:
        parent: str | None = None
        number = 0

        def put(kind: str, **more: Any) -> None:
            nonlocal parent, number
            number += 1
            when = datetime.fromtimestamp(1_772_355_600 + number, UTC).isoformat(timespec="milliseconds")
            plain = {
                "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/ada/work",
                "sessionId": SESSION, "version": "2.1.144", "gitBranch": "main", "type": kind,
                "uuid": f"{number:08x}-0000-4000-8000-000000000000",
                "timestamp": when.replace("+00:00", "Z"),
            }  # fmt: skip
            parent = str(plain["uuid"])
            file.write(json.dumps({**plain, **more}) + "\n")

        turn = 0
        while file.tell() < size:
            if turn % 40 == 0:
                put("user", message={"role": "user", "content": _words(chance, 40)})
            _round(put, turn, chance)
            turn += 1
        put("assistant", message=_message(f"msg_{turn}", [{"type": "text", "text": "All done."}], "end_turn"))
    return path


def _round(put: Any, turn: int, chance: random.Random) -> None:
    name, argument = TOOLS[turn % len(TOOLS)]
    call, message = f"toolu_{turn}", f"msg_{turn}"
    put("assistant", message=_message(message, [{"type": "text", "text": _words(chance, 30)}], "tool_use"))
    asked = {"type": "tool_use", "id": call, "name": name, "input": {argument: _words(chance, 6)}}
    put("assistant", message=_message(message, [asked], "tool_use"))
    for n in range(3):
        put("progress", data={"type": "bash_progress", "output": _words(chance, 15), "elapsedTimeSeconds": n},
            toolUseID=f"bash-progress-{n}", parentToolUseID=call)  # fmt: skip
    output = _lines(chance, min(4000, int(chance.lognormvariate(3.2, 1.3))))
    put("user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": output,
                                                      "is_error": False}]},
        toolUseResult={"stdout": output, "stderr": "", "interrupted": False, "isImage": False})  # fmt: skip


def _message(id: str, content: list[Any], stop: str) -> dict[str, Any]:
    usage = {"input_tokens": 7, "cache_creation_input_tokens": 301, "cache_read_input_tokens": 40_000,
             "output_tokens": 120, "service_tier": "standard"}  # fmt: skip
    return {"id": id, "type": "message", "role": "assistant", "model": "claude-x", "content": content,
            "stop_reason": stop, "usage": usage}  # fmt: skip


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def _lines(chance: random.Random, count: int) -> str:
    return "\n".join(f"{n:6}\t{_words(chance, 8)}" for n in range(count))
