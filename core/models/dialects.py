"""The dialects of Chat Completions, by which providers differ."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """The properties in which a provider of Chat Completions may differ. The defaults suit nearly all providers.

    Attributes:
        hosts: host names, or suffixes of host names that start with a dot.
        system_role: the role of system messages.
        max_tokens_field: the name of the field that limits the length of a reply.
        effort: the notation of the reasoning effort; "" if unsupported.
        schema: the type of `response_format` for an output schema.
        strict: whether schemas may be marked as strict.
        pdf: whether PDF documents may be sent.
        reasoning_back: which reasoning of earlier replies is sent back: none if "", `same` for reasoning that was
            received,
            in the field in which it arrived, or `always` for a field in every reply, even if empty.
        stream_usage: whether `stream_options` may request token usage.
        cache_prefix: the prefix of the names of models with cache breakpoints; "" for none.
        prompt_progress: whether the provider can report how much of the prompt it has read.
        call_id_length: the required length of call ids; 0 if any length is accepted.
    """

    name: str
    hosts: tuple[str, ...] = ()
    system_role: str = "system"
    max_tokens_field: str = "max_tokens"
    effort: str = "plain"
    schema: str = "json_schema"
    strict: bool = False
    images: bool = True
    pdf: bool = False
    reasoning_back: str = "same"
    stream_usage: bool = True
    cache_prefix: str = ""
    prompt_progress: bool = False
    call_id_length: int = 0


DEFAULT_DIALECT = Dialect("plain")
EMBEDDED_DIALECT = Dialect("embedded", prompt_progress=True)
DIALECTS = (
    Dialect(
        "openai",
        ("api.openai.com", ".openai.azure.com"),
        system_role="developer",
        max_tokens_field="max_completion_tokens",
        strict=True,
        pdf=True,
        reasoning_back="",
    ),
    Dialect("openrouter", ("openrouter.ai",), effort="openrouter", pdf=True, cache_prefix="anthropic/"),
    Dialect(
        "deepseek",
        ("api.deepseek.com",),
        effort="deepseek",
        schema="json_object",
        images=False,
        reasoning_back="always",
    ),
    Dialect("gemini", ("generativelanguage.googleapis.com",), pdf=False, reasoning_back=""),
    Dialect("groq", ("api.groq.com",), max_tokens_field="max_completion_tokens"),
    Dialect("mistral", ("api.mistral.ai",), effort="", reasoning_back="", stream_usage=False, call_id_length=9),
    Dialect("x.ai", ("api.x.ai",), effort="", strict=True, reasoning_back=""),
    Dialect("zai", ("api.z.ai", "open.bigmodel.cn"), effort="zai", schema="json_object"),
    Dialect("moonshot", ("api.moonshot.ai", "api.moonshot.cn"), effort="", schema="json_object"),
    Dialect("qwen", (".aliyuncs.com",), effort="qwen", schema="json_object"),
    Dialect("cerebras", ("api.cerebras.ai",), max_tokens_field="max_completion_tokens", strict=True, images=False),
    Dialect("chutes", (".chutes.ai",)),
)


def dialect_of(host: str) -> Dialect:
    """Return the dialect for a host name, or the default dialect."""
    for dialect in DIALECTS:
        if any(host == end or (end.startswith(".") and host.endswith(end)) for end in dialect.hosts):
            return dialect
    return DEFAULT_DIALECT
