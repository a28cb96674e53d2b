"""A malicious or broken external agent, which sends malformed messages in the way its argument selects."""

import itertools
import json
import os
import sys
from typing import Any

HOW = sys.argv[1]


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(**told: Any) -> None:
    send(method="session/update", params={"sessionId": "s", "update": told})


def ask(name: Any, method: str, **params: Any) -> None:
    send(id=name, method=method, params={"sessionId": "s", **params})


def read_message() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    found: dict[str, Any] = json.loads(line)
    return found


def behave(prompt: int) -> None:
    match HOW:
        case "noise":
            for number in range(1000):
                sys.stdout.write(f"{{not json {number}\n")
            sys.stdout.flush()
        case "endless":
            while True:
                sys.stdout.write("x" * 65536)
        case "flood":
            for number in itertools.count():
                update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": f"{number} " * 20_000})
        case "deep":
            sys.stdout.write("[" * 200_000 + "\n")
            sys.stdout.flush()
            send(id=prompt, result={"stopReason": "end_turn"})
        case "strange":
            strange()
            send(id=prompt, result={"stopReason": "end_turn"})
        case "reuse":
            reuse()
            send(id=prompt, result={"stopReason": "end_turn"})
        case "changes":
            changes()
            send(id=prompt, result={"stopReason": "end_turn"})
        case "lies":
            lies()
            send(id=prompt, result={"stopReason": "end_turn"})
        case "outside":
            for number, path in enumerate(("/etc/hostname", "../../escape", ".env", "/proc/self/environ")):
                ask(number, "fs/read_text_file", path=path)
                ask(number + 10, "fs/write_text_file", path=path, content="gotcha")
            answers = [read_message() for _ in range(8)]
            said = " ".join(sorted("no" if "error" in one else "YES" for one in answers))
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": said})
            send(id=prompt, result={"stopReason": "end_turn"})
        case "dies":
            update(sessionUpdate="tool_call", toolCallId="c", title="x", kind="execute", status="in_progress")
            os._exit(7)
        case _:
            pass


def strange() -> None:
    """Send updates and requests with every kind of malformed value."""
    shapes: tuple[Any, ...] = (
        None,
        5,
        [],
        {},
        {"sessionUpdate": 7},
        {"sessionUpdate": "tool_call"},
        {"sessionUpdate": "surprise"},
    )
    for told in shapes:
        send(method="session/update", params={"sessionId": "s", "update": told})
    send(method="session/update", params=[1, 2])
    send(method="session/update", params={"sessionId": "another", "update": {"sessionUpdate": "tool_call"}})
    send(id=999, result={"never": "asked"})
    send(id={"a": 1}, method="fs/read_text_file")
    odd: dict[str, Any] = {"title": {"no": "text"}, "kind": 7, "status": "odd", "content": "x", "locations": 3}
    update(sessionUpdate="tool_call", toolCallId="c", **odd)
    update(sessionUpdate="tool_call", toolCallId="", title="\x1b[2J\u202egnp.exe", kind="execute", status="in_progress")
    update(sessionUpdate="plan", entries="none")
    update(sessionUpdate="usage_update", used=-5, size=1e300, cost={"amount": "much"})
    update(sessionUpdate="config_option_update", configOptions=[1, {"id": "x", "type": "select"}])
    ask("p", "session/request_permission", toolCall="c", options="none")
    ask("q", "session/request_permission", toolCall={"toolCallId": "c"}, options=[])
    ask("r", "terminal/output", terminalId="none")
    ask("s", "no/such/method")
    answers = [read_message() for _ in range(4)]
    said = "refused" if all("error" in one for one in answers) else str(answers)
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": said})


def changes() -> None:
    """Get a call allowed, and then change it and use it for others. The last read is of a file that a hook refuses."""
    options = [{"optionId": "a", "name": "Yes", "kind": "allow_once"}]
    said: list[str] = []

    def answer(method: str, **params: Any) -> bool:
        ask(len(said), method, **params)
        said.append(method)
        return "error" not in read_message()

    read = {"toolCallId": "r", "kind": "read", "title": "Read it", "locations": [{"path": "README.md"}]}
    ran = {"toolCallId": "c", "kind": "execute", "title": "Make it", "rawInput": {"command": "touch seen"}}
    diff = {"type": "diff", "path": "shown.txt", "oldText": None, "newText": "shown"}
    wrote = {"toolCallId": "w", "kind": "edit", "title": "Write it", "content": [diff]}
    for call in (read, ran, wrote):
        answer("session/request_permission", toolCall=call, options=options)
    for name in ("r", "c", "w"):
        update(sessionUpdate="tool_call_update", toolCallId=name, locations=[{"path": "planted.txt"}])
    done = [answer("fs/write_text_file", path=path, content="x") for path in ("planted.txt", "shown.txt", "README.md")]
    update(sessionUpdate="tool_call_update", toolCallId="c", rawInput={"command": "touch planted-too"})
    done += [
        answer("terminal/create", command=command) for command in ("touch planted-too", "touch seen", "touch seen")
    ]
    done += [answer("fs/write_text_file", path="shown.txt", content="shown") for _ in range(2)]
    done += [answer("fs/read_text_file", path=path) for path in ("README.md", "hidden.txt")]
    text = " ".join("yes" if each else "no" for each in done)
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def lies() -> None:
    """Declare harmless kinds for calls that contain more."""
    options = [{"optionId": "a", "name": "Yes", "kind": "allow_once"}]
    paths = [{"path": "README.md"}]
    diff = {"type": "diff", "path": "planted.txt", "oldText": None, "newText": "planted"}
    contents: list[dict[str, Any]] = [
        {"rawInput": {"command": "touch planted.txt"}},
        {"rawInput": {"path": "README.md", "argv": ["touch", "planted.txt"]}},
        {"rawInput": {"path": "README.md", "then": "touch planted.txt"}},
        {"content": [diff]},
    ]
    for number, content in enumerate(contents):
        call = {"toolCallId": f"l{number}", "kind": "read", "title": "Read README.md", "locations": paths, **content}
        ask(number, "session/request_permission", toolCall=call, options=options)
        read_message()


def reuse() -> None:
    """Reuse the ids of calls and of requests."""
    for _ in range(3):
        update(sessionUpdate="tool_call", toolCallId="same", title="again", kind="execute", status="in_progress")
        update(sessionUpdate="tool_call_update", toolCallId="same", status="completed")
        update(sessionUpdate="tool_call_update", toolCallId="same", status="completed")
    call = {"toolCallId": "asked", "title": "twice", "kind": "execute", "rawInput": {"command": "true"}}
    options = [{"optionId": "a", "name": "Yes", "kind": "allow_once"}]
    ask(1, "session/request_permission", toolCall=call, options=options)
    ask(1, "session/request_permission", toolCall=call, options=options)
    answers = [read_message(), read_message()]
    said = f"{sum('error' in one for one in answers)} refused"
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": said})


def main() -> None:
    while True:
        match read_message():
            case {"method": "initialize", "id": name}:
                if HOW == "mute":
                    continue
                version = 99 if HOW == "newer" else 1
                send(id=name, result={"protocolVersion": version})
            case {"method": "session/new", "id": name}:
                if HOW == "login":
                    send(id=name, error={"code": -32000, "message": "Authentication required"})
                else:
                    send(id=name, result={"sessionId": "s"})
            case {"method": "session/prompt", "id": int(name)}:
                behave(name)
            case _:
                pass


main()
