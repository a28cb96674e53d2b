"""The event format."""

import dataclasses

from core.domain.events import EVENT_CLASSES

HEAD = {"session", "seq", "run", "at", "kind"}  # envelope fields of every event in JSON output


def test_no_event_field_hides_a_common_field() -> None:
    assert [
        name for name, event in EVENT_CLASSES.items() if HEAD & {field.name for field in dataclasses.fields(event)}
    ] == []
