"""The names of facts."""

import dataclasses

from core.domain.events import KINDS

HEAD = {"session", "seq", "run", "at", "kind"}  # of every entry, in whatever form it is printed


def test_no_field_hides_what_an_entry_says_of_itself() -> None:
    assert [name for name, event in KINDS.items() if HEAD & {field.name for field in dataclasses.fields(event)}] == []
