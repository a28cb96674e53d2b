"""Removes secrets from requests before they are encoded. Results are cached, because texts are sent repeatedly."""

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from core.domain.messages import Message
from core.domain.redact import MIN_SECRET_LENGTH, Redactor
from core.domain.text import Attachment, Text
from core.models.attachments import TEXT_TYPES
from core.models.json_values import parse_json
from core.models.model import Request, ToolSpec

MAX_REMEMBERED = 16_384  # most texts whose results are cached
JSON_START = ("{", "[")


class RequestMask:
    """Removes secrets from the requests of this process.

    Call arguments, tool definitions and schemas are searched string by string, so that they stay valid JSON. Opaque
    state of a provider is sent back unchanged.
    """

    def __init__(self) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._redactor = Redactor(uncertain=False)
        # By digest of the text; None if it contains no secret.
        self._results: OrderedDict[bytes, str | None] = OrderedDict()
        # The tools of the last request, and the same tools without secrets.
        self._tools: Sequence[ToolSpec] = ()
        self._clean_tools: Sequence[ToolSpec] = ()

    def set_known(self, secrets: Iterable[str]) -> None:
        """Set the user's own secrets, which are removed wherever they occur, in every encoding."""
        values = frozenset(secrets)
        if values != self._secrets:
            self._secrets = values
            self._redactor = Redactor(values, uncertain=False)
            self._results.clear()
            self._tools = self._clean_tools = ()

    def apply(self, request: Request) -> Request:
        """Return a request without secrets; its texts and attachments are masked when they are read."""
        arguments = {id(call.arguments) for message in request.messages for call in message.calls}
        states = {id(message.provider_state) for message in request.messages}

        def read_text(text: Text) -> str:
            content = request.read_text(text)
            if not content or id(text) in states:
                return content
            return self.json_text(content) if id(text) in arguments else self.text(content)

        def read_attachment(attachment: Attachment) -> bytes:
            data = request.read_attachment(attachment)
            if not (attachment.media_type.startswith("text/") or attachment.media_type in TEXT_TYPES):
                return data
            plain = data.decode("utf-8", "replace")
            masked = self.text(plain)
            return data if masked == plain else masked.encode()

        return replace(
            request,
            messages=[self._message(message) for message in request.messages],
            tools=self._masked_tools(request.tools),
            output_schema=self._value(request.output_schema),
            read_text=read_text,
            read_attachment=read_attachment,
            system_prompt=self.text(request.system_prompt),
        )

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return self._masked(text, self._redactor.redact)

    def json_text(self, text: str) -> str:
        """Return a JSON text without secrets in its strings; other text than a JSON object or list as by `text`."""
        return self._masked(text, self._mask_json) if text.lstrip().startswith(JSON_START) else self.text(text)

    def _masked(self, text: str, mask: Any) -> str:
        if len(text) < MIN_SECRET_LENGTH:
            return text
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=mask.__name__.encode()).digest()
        if digest in self._results:
            self._results.move_to_end(digest)
            cached = self._results[digest]
            return text if cached is None else cached
        masked: str = mask(text)
        self._results[digest] = None if masked == text else masked
        if len(self._results) > MAX_REMEMBERED:
            self._results.popitem(last=False)
        return masked

    def _mask_json(self, text: str) -> str:
        plain = parse_json(text)
        if not isinstance(plain, dict | list):
            return self._redactor.redact(text)
        try:
            masked = self._value(plain)
            return text if masked == plain else json.dumps(masked, ensure_ascii=False)
        except RecursionError:  # only the parser accepted such deeply nested arguments
            return self._redactor.redact(text)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._pair(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(item) for item in value]
        return value

    def _pair(self, key: str, value: Any) -> Any:
        """Return a value without secrets, which may be recognizable only by the key, as in `{"password": …}`."""
        masked = self._value(value)
        if isinstance(value, str) and masked == value and (findings := self._redactor.findings(f"{key}={value}")):
            return f"[{findings[0].kind} removed]"
        return masked

    def _message(self, message: Message) -> Message:
        names = [self.text(attachment.name) for attachment in message.attachments]
        if names == [attachment.name for attachment in message.attachments]:
            return message
        pairs = zip(message.attachments, names, strict=True)
        return replace(message, attachments=tuple(replace(attachment, name=name) for attachment, name in pairs))

    def _masked_tools(self, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        if self._tools is not tools:
            masked = [ToolSpec(tool.name, self.text(tool.description), self._value(tool.parameters)) for tool in tools]
            self._tools = tools
            self._clean_tools = tools if masked == list(tools) else masked
        return self._clean_tools
