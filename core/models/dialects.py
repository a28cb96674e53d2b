"""The table of those who speak Chat Completions, and what each says differently."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server wants; the defaults are what nearly every server takes.

    Attributes:
        hosts: ends of host names that speak it.
        system: the role of instructions.
        output: the field that limits the reply.
        effort: how the wanted effort is written, empty where there is no way.
        schema: how a wanted schema is written.
        strict: schemas may be marked as strict.
        pdf: documents may be sent.
        thinking: what goes back of earlier thoughts: none, what came (`same`), or also an empty one (`always`).
        usage: `stream_options` may ask for the usage.
        cache_marks: the prefix of models that want marks where the prompt may be cached.
        call_ids: the length of call ids where it is fixed.
    """

    name: str
    hosts: tuple[str, ...] = ()
    system: str = "system"
    output: str = "max_tokens"
    effort: str = "plain"
    schema: str = "json_schema"
    strict: bool = False
    images: bool = True
    pdf: bool = False
    thinking: str = "same"
    usage: bool = True
    cache_marks: str = ""
    call_ids: int = 0


PLAIN = Dialect("plain")
DIALECTS = (
    Dialect(
        "openai",
        ("api.openai.com", ".openai.azure.com"),
        system="developer",
        output="max_completion_tokens",
        strict=True,
        pdf=True,
        thinking="",
    ),
    Dialect("openrouter", ("openrouter.ai",), effort="openrouter", pdf=True, cache_marks="anthropic/"),
    Dialect(
        "deepseek", ("api.deepseek.com",), effort="deepseek", schema="json_object", images=False, thinking="always"
    ),
    Dialect("gemini", ("generativelanguage.googleapis.com",), pdf=False, thinking=""),
    Dialect("groq", ("api.groq.com",), output="max_completion_tokens"),
    Dialect("mistral", ("api.mistral.ai",), effort="", thinking="", usage=False, call_ids=9),
    Dialect("x.ai", ("api.x.ai",), effort="", strict=True, thinking=""),
    Dialect("zai", ("api.z.ai", "open.bigmodel.cn"), effort="zai", schema="json_object"),
    Dialect("moonshot", ("api.moonshot.ai", "api.moonshot.cn"), effort="", schema="json_object"),
    Dialect("qwen", (".aliyuncs.com",), effort="qwen", schema="json_object"),
    Dialect("cerebras", ("api.cerebras.ai",), output="max_completion_tokens", strict=True, images=False),
    Dialect("chutes", (".chutes.ai",)),
)


def dialect_of(host: str) -> Dialect:
    """The dialect of a host; what nearly every server takes where none is known."""
    for dialect in DIALECTS:
        if any(host == end or (end.startswith(".") and host.endswith(end)) for end in dialect.hosts):
            return dialect
    return PLAIN
