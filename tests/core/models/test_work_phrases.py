"""What a task asks for, such as a file, a correction or a question, and what a reply claims to have done."""

import pytest

from core.models.work_phrases import (
    asks_for_calculation,
    asks_for_file_move,
    asks_for_question,
    asks_for_work,
    asks_how,
    check_command,
    claims_work,
    code_to_change,
    implies_work,
    possible_results,
    reports_fault,
)


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


@pytest.mark.parametrize(
    ("task", "calculates"),
    [
        ("Add up the prices in shop.csv.", True),
        ("What is the average of the ages in people.csv?", True),
        ("How much did Ann pay in total?", True),
        ("Which status comes up most often in access.log, and how many times?", True),
        ("Work out what each of us owes from trip.csv.", True),
        ("What does the function total do?", False),
        ("What does sum.py mean?", False),
    ],
)
def test_tasks_that_ask_for_a_calculation(task: str, calculates: bool) -> None:
    assert asks_for_calculation(task) is calculates


@pytest.mark.parametrize(
    ("task", "moves"),
    [
        ("Rename draft.md to final.md without changing it.", True),
        ("Please move the file `docs/a.txt` into archive.", True),
        ("Rename the function total to sum_up in shop.py.", False),
        ("rename the IMG pictures to holiday-1.jpg, holiday-2.jpg and so on", True),
        ("Move all files of last year into old.", True),
        ("Move the constants of a.py to b.py.", False),
    ],
)
def test_tasks_that_ask_to_move_a_file(task: str, moves: bool) -> None:
    assert asks_for_file_move(task) is moves


@pytest.mark.parametrize(
    ("task", "files"),
    [
        ("Collect the titles of all chapters in index.md.", ["index.md"]),
        ("From the log, please sketch a summary in docs/plan.md.", ["docs/plan.md"]),
        ("For each order, note the total in totals.txt and keep a copy as backup.csv.", ["totals.txt", "backup.csv"]),
        ("Count the words in notes.txt.", []),
        ("Fix the error in main.py.", []),
        ("Look for the port in config.ini.", []),
        ("The tests in test_a.py fail.", []),
        ("Running the script in a.sh takes long.", []),
        ("What is the port in config.ini?", []),
        ("Keep one copy in a.txt and delete the others.", []),
    ],
)
def test_files_that_may_be_results_whatever_the_verb_is(task: str, files: list[str]) -> None:
    assert possible_results(task, has_source=False) == files


def test_verbs_that_ask_for_an_answer_ask_for_a_file_if_there_is_another_one() -> None:
    task = "List the headings of guide.md in contents.md."
    assert possible_results(task, has_source=True) == ["contents.md"]
    assert possible_results(task, has_source=False) == []


@pytest.mark.parametrize(
    ("reply", "claims"),
    [
        ("Done.", True),
        ("I have alphabetized and sorted the names.", True),
        ("I\u2019ve updated the version.\nIt is 2.0 now.", True),
        ("The file has been successfully created.", True),
        ("All headings are now written to the file.", True),
        ("The port is 8080.", False),
        ("This is done by the function main, which calls run.", False),
        ("I cannot find such a file.", False),
        ("", False),
    ],
)
def test_replies_that_claim_work(reply: str, claims: bool) -> None:
    assert claims_work("Alphabetize names.txt.", reply) is claims
    assert not claims_work("Did you alphabetize names.txt?", reply)


@pytest.mark.parametrize(
    ("task", "file"),
    [
        ("mean.py computes a wrong mean. Correct it.", "mean.py"),
        ("Write fizz.py so that `python3 test_fizz.py` passes.", "fizz.py"),
        ("`node test.js` fails because of src/cart.js. Fix src/cart.js.", "src/cart.js"),
        ("Read bug.md and repair what it describes in lib/sum.rb.", "lib/sum.rb"),
        ("a.py lacks a function that b.py has. Add it to a.py.", "a.py"),
        ("The test in test_a.py fails. Fix a.py so that it passes.", "a.py"),
        ("Fix the failing test in test_a.py.", ""),
        ("Fix a.py and b.py.", ""),
        ("The function in calc.py changed. Bring the line in README.md up to date.", ""),
        ("Rename area.py to size.py.", ""),
        ("Add a test to test_sum.py.", ""),
        ("What does a.py print?", ""),
        ("Add eggs to list.txt.", ""),
    ],
)
def test_the_one_file_with_code_that_a_task_changes(task: str, file: str) -> None:
    assert code_to_change(task) == file


@pytest.mark.parametrize(
    ("task", "implied"),
    [
        ("The client section of settings.ini needs a timeout of 30. Nothing else should change.", True),
        ("I've booked the hall. Tick that off in todo.md, would you?", True),
        ("deploy.yaml: 5 replicas, please", True),
        ("The dates in trips.csv are wrong. Could you turn them into ISO dates? The rest stays as it is.", True),
        ("Could you tell me what main.py prints?", False),
        ("rota.csv has to have Ann on Friday, thanks!", True),
        ("Fix the tests.", True),
        ("Turn commits.txt into release notes, NOTES.md.", True),
        ("Why does main.py turn the page?", False),
        ("I found cleanup.sh on our server. What does it do?", False),
        ("I would like to know how many lines app.log has.", False),
        ("Summarize notes.md, would you?", False),
        ("I need an overview of main.py.", False),
        ("Do not touch main.py.", False),
        ("README.md is fine now, thanks.", False),
        ("The weather is nice.", False),
    ],
)
def test_statements_about_a_file_imply_work(task: str, implied: bool) -> None:
    assert implies_work(task) is implied
