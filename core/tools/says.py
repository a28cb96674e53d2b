"""What a model is told of one parameter."""

from collections.abc import Callable
from typing import Any


class Says:
    """Stands in the annotation of a parameter; pydantic asks it for its part of the schema.

    Its own `Field` says the same, but brings all of pydantic with it, and no window waits for that to open.
    """

    def __init__(self, words: str) -> None:
        self.words = words

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return handler(schema) | {"description": self.words}
