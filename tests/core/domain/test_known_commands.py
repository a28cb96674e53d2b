"""Commands of the tables: which entry they have, and which part of the entry their operands and options leave."""

from core.domain.known_commands import known_command, only_reads, recognize, without_harmless_globals


def test_an_empty_command_is_not_known() -> None:
    assert recognize(()) is None and known_command(()) is None
    assert without_harmless_globals(()) == ()


def test_a_global_option_with_a_value_is_recognized_but_kept() -> None:
    command = ("git", "--no-pager", "-C", "sub", "log")
    recognized = recognize(command)
    assert recognized is not None and recognized.command.words == ("git", "log")
    assert without_harmless_globals(command) == ("git", "-C", "sub", "log")


def test_a_program_of_awk_only_prints() -> None:
    assert only_reads(("awk", "{print $1}", "a"))
    assert not only_reads(("awk", '{print > "x"}', "a"))
