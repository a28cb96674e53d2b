"""What git prints is read, and a message for a commit is proposed."""

from core.workspace.git_repository import GitFile, parse_status, propose_message


def test_a_status_of_conflicts_is_read() -> None:
    output = "# branch.oid 1\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0"
    output += "u UU N... 100644 100644 100644 100644 1 2 3 both.py\0? new\0"
    assert parse_status(output) == ("origin/main", 2, 1, (GitFile("both.py", "U", "U"), GitFile("new", "", "?")))


def test_the_proposed_message_names_the_session_and_its_files() -> None:
    assert propose_message("Fix the letter", ["a.py"]) == "Fix the letter"
    assert propose_message("Fix  the\nletter", ["a", "b"]) == "Fix the letter\n\n- a\n- b"
    assert len(propose_message("x" * 300, [])) == 72 and propose_message("", []) == "Update files"
    assert propose_message("T", [str(n) for n in range(20)]).endswith("- 11\n- and 8 more")
