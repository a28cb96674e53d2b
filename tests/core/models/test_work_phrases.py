"""What a task asks for: the correction of a fault, a question to the user, and a command that has to succeed."""

import pytest

from core.models.work_phrases import asks_for_question, asks_for_work, asks_how, check_command, reports_fault


@pytest.mark.parametrize(
    ("task", "faulty"),
    [
        ("mean.py computes a wrong mean. Correct it.", True),
        ("Fix the bug in shop.py.", True),
        ("`make test` fails. Find and repair the cause in a.py.", True),
        ("What is wrong in shop.py?", False),
        ("In note.txt, replace every Monday by Friday.", False),
        ("Write the prefix into a.txt.", False),
    ],
)
def test_tasks_that_report_a_fault(task: str, faulty: bool) -> None:
    assert reports_fault(task) is faulty


@pytest.mark.parametrize(
    ("task", "asks"),
    [
        ("Ask me which draft to keep, then delete the other.", True),
        ("If in doubt, ask the user.", True),
        ("Write the function ask(name).", False),
        ("Do not change the task.", False),
    ],
)
def test_tasks_that_tell_to_ask(task: str, asks: bool) -> None:
    assert asks_for_question(task) is asks


@pytest.mark.parametrize(
    ("task", "command", "work"),
    [
        ("Give total a discount, so that `python3 test_cart.py` passes.", "python3 test_cart.py", True),
        ("`make test` must still succeed.", "make test", True),
        ("`npm test` fails. Why?", "npm test", False),
        ("Run `sh secret.sh` and write what it prints into out.txt.", "", True),
        ("What does `ls -l` print?", "", False),
    ],
)
def test_commands_that_have_to_succeed(task: str, command: str, work: bool) -> None:
    assert check_command(task) == command and asks_for_work(task) is work


@pytest.mark.parametrize(
    ("task", "how"),
    [
        ("How do I count the lines of a file?", True),
        ("Which command lists the ports?", True),
        ("Which request took longest, and how long?", False),
        ("How many lines has a.txt?", False),
    ],
)
def test_tasks_that_ask_for_a_command(task: str, how: bool) -> None:
    assert asks_how(task) is how
