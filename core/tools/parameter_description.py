"""The description of a parameter in the JSON Schema of a tool."""

from collections.abc import Callable
from typing import Any, Final

MAX_NUMBER: Final = 10**12  # of parameters without a limit of their own; SQLite stores integers up to 2**63 - 1


class ParameterDescription:
    """Annotates a parameter with its description, which pydantic puts into the schema.

    pydantic's own `Field` would do the same, but importing pydantic delays the opening of the window.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return handler(schema) | {"description": self.text}
