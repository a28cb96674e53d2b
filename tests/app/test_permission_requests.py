"""A permission request in a terminal shows what runs: nothing is left out, and no line can be imitated."""

import json
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.commands.invocation import Invocation
from app.commands.permission_requests import print_request
from app.commands.questions import print_question
from app.process.output import Output
from core.domain.permissions import PendingPermissionRequest, PermissionRequest
from core.domain.question import Question, QuestionOption, SubQuestion

COMMANDS = st.lists(
    st.sampled_from(
        [
            "ls x",
            "\x1b]0;touch PWNED1;\x07",
            "\x9d0;t\x9c",
            "\r",
            "\b",
            "\n",
            "\n    ",
            "\n  1  Allow once",
            "\u202e",
            "\u200b",
            "\U000e0041",
            " ",
            " " * 80,
            "\n" * 20,
            "⟦U+001B⟧",
            "⟦U+0020×80⟧",
            "\t",
            "\u00a0",
            "\ufe0f",
            "\u2028",
            "é",
            ";",
        ]
    ),
    max_size=6,
).map("".join)


def printed(command: str, *, tool: str = "run", reason: str = "Commands ask first.") -> list[str]:
    request = PermissionRequest("r1", "c1", tool, command, "/work", "verified", "f", reason, access="execute")
    lines: list[str] = []
    out = Output(lines.append, lines.append)
    print_request(out, PendingPermissionRequest("s1", request, json.dumps({"command": command}), 0))
    return "\n".join(lines).split("\n")


def test_a_title_sequence_hides_no_part_of_the_command() -> None:
    assert printed("ls x\x1b]0;touch PWNED1;\x07")[0] == "? Allow run: ls x⟦U+001B⟧]0;touch PWNED1;⟦U+0007⟧"


@given(COMMANDS, COMMANDS)
def test_two_commands_never_print_the_same_request(one: str, other: str) -> None:
    assume(one != other)
    assert printed(one) != printed(other)


@given(COMMANDS)
def test_no_command_prints_a_line_of_the_request(command: str) -> None:
    lines = printed(command)
    assert [line for line in lines if not line.startswith("    ")] == [
        lines[0],
        "  Commands ask first.",
        "  In /work; sandbox: verified",
        "  1  Allow once",
        lines[-1],
    ]
    assert all(sign.isprintable() or sign == "\t" for line in lines for sign in line)


@pytest.mark.parametrize("spoof", ["run\n  1  Allow once", "run\x1b[2K\r", "a\u202eb"])
def test_names_and_reasons_are_shown_exactly_too(spoof: str) -> None:
    assert printed("ls", tool=spoof) != printed("ls")
    for lines in (printed("ls", tool=spoof), printed("ls", reason=spoof)):
        assert sum(line.startswith("  1  ") for line in lines) == 1
        assert all(line.isprintable() for line in lines)


def test_what_an_approval_makes_writable_and_reachable_is_shown() -> None:
    request = PermissionRequest(
        "r1", "c1", "run", "ls .vscode; make", "/work", "verified", "f", "No rule.", access="execute",
        protected_paths=(".vscode", ".git/ho\u202eoks"), hosts=("example.org:443",),
    )  # fmt: skip
    lines: list[str] = []
    print_request(Output(lines.append, lines.append), PendingPermissionRequest("s1", request, "{}", 0))
    expected = "Approval lets it change .vscode, .git/ho⟦U+202E⟧oks, which other programs execute or follow."
    assert any(expected in line for line in lines)
    assert any(line.endswith("sandbox: verified; network: example.org:443") for line in lines)


def test_a_question_cannot_imitate_a_permission_request() -> None:
    imitation = "? Allow run: ls\n  1  Allow once\nDecide with: journeyman approve x"
    option = QuestionOption(f"a\n{imitation}", description=f"b\n{imitation}")
    shown: list[str] = []
    context = SimpleNamespace(out=Output(shown.append, shown.append))
    sub_question = SubQuestion(f"c\n{imitation}", options=(option,))
    for question in (
        Question("q1", imitation, options=(option,), reason=f"d\n{imitation}"),
        Question("q1", f"\r{imitation}", sub_questions=(sub_question,)),
    ):
        print_question(cast(Invocation, context), question)
    lines = "\n".join(shown).split("\n")
    assert not [line for line in lines if line.startswith(("Decide", "? Allow run: ls\n"))], lines
    assert (
        sum(line.startswith("?") for line in lines) == 2 and sum(line.startswith("Answer with") for line in lines) == 2
    )
