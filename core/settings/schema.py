"""Every setting there is, with what it means; pages, search, checks and help follow from it."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, NewType

from core.domain.tiers import ONE_FOR_ALL
from core.domain.tiers import Tiers as Tiers

FORM = 1
MODELS = "Models and keys"
MEMORY = "Memory and learning"
WEB = "Web search"
TOOLS = "Tool servers"
Wire = Literal["chat", "responses", "anthropic", "ollama"]
Search = Literal["none", "searxng", "brave", "tavily"]
Learning = Literal["ask", "add", "off"]
Theme = Literal["system", "light", "dark", "contrast"]


class About(NamedTuple):
    """What a person reads of a setting. `low` and `high` bound a number, `page` groups."""

    page: str
    label: str
    help: str
    low: float | None = None
    high: float | None = None
    unit: str = ""


Folder = NewType("Folder", str)  # a setting that names one


def setting(default: Any, about: About) -> Any:
    """A field with its words."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A model server that a person added. Its key is not here: it stands in the keyring, under name and address.

    Attributes:
        name: what stands before the slash of a model's name.
        wire: the format it speaks.
        url: where it is.
        plain: http is allowed, although it is not on this machine.
        variable: the environment variable that holds its key.
    """

    name: str
    url: str
    wire: Wire = "chat"
    plain: bool = False
    variable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A person's own figures for a model, in US dollars for a million tokens; they go before every other source.

    Attributes:
        model: its name, as PROVIDER/MODEL.
        input: of what is sent.
        output: of what comes back.
        cached: of what is sent and was kept by the server; None is as `input`.
        window: tokens that fit; None is not known.
    """

    model: str
    input: float | None = None
    output: float | None = None
    cached: float | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool of a tool server, as it was when a person accepted it: models are told this and nothing newer.

    Attributes:
        name: as its server calls it.
        description: what a model reads of it.
        schema: of its arguments, as JSON.
        on: agents are offered it.
    """

    name: str
    description: str = ""
    schema: str = "{}"
    on: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a tool server is given besides: a variable of its environment, or a header where it has an address.

    `value` may name variables of ours as `${NAME}`, for this file keeps no secrets; an empty one stands in the keyring.
    """

    name: str
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """A program or an address that a person added, which brings tools by the Model Context Protocol.

    Attributes:
        name: what stands before the name of each of its tools.
        command: the program; `args` are its arguments.
        url: where it is, instead of a program; `plain` allows http although it is not on this machine.
        given: what it is told besides the usual few variables.
        on: agents are offered its tools.
        tools: what a person accepted.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    url: str = ""
    plain: bool = False
    given: tuple[Given, ...] = ()
    on: bool = True
    tools: tuple[ServerTool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideAgent:
    """A program of others that works in a folder by itself, spoken to by the Agent Client Protocol.

    Attributes:
        name: what stands after `agent/` where a model is named.
        command: the program; `args` are its arguments.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        return (self.command, *self.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of them. A new one is one field here."""

    theme: Theme = setting(
        "system", About("Appearance", "Theme", "Light, dark, high contrast, or as the system has it.")
    )
    font_scale: int = setting(100, About("Appearance", "Size of text", "In percent.", 80, 200, "%"))
    reduced_motion: bool = setting(False, About("Appearance", "Less motion", "Nothing slides or fades."))
    model: str = setting(
        "", About(MODELS, "Model", "The model of new sessions, as PROVIDER/MODEL. Empty: each session names its own.")
    )
    tiers: Tiers = setting(
        ONE_FOR_ALL, About(MODELS, "Tiers", "Which models do which work. Empty: the model of the session does all.")
    )
    providers: tuple[Provider, ...] = setting(
        (), About(MODELS, "Servers", "Model servers you added. Keys stand in the keyring of the system.")
    )
    prices: tuple[Price, ...] = setting(
        (), About(MODELS, "Prices", "Your own figures for models; they go before those of servers and of our table.")
    )
    text_calls: tuple[str, ...] = setting(
        (),
        About(MODELS, "Calls as text", "Models without tool calls, which write them instead. Journeyman adds those "
              "that it finds; “journeyman models test” looks again."),
    )  # fmt: skip
    max_rounds: int = setting(60, About("Limits", "Rounds", "A run pauses after so many. 0 is no limit.", 0, 10**9))
    max_minutes: float = setting(0.0, About("Limits", "Minutes", "0 is no limit.", 0, 10**6, "min"))
    max_tokens: int = setting(0, About("Limits", "Tokens", "Sent and received. 0 is no limit.", 0, 10**12))
    max_cost: float = setting(
        0.0, About("Limits", "Money", "US dollars for a run, where prices are known. 0 is no limit.", 0, 10**6, "$")
    )
    memory: bool = setting(
        True,
        About(MEMORY, "Memory", "Agents are told what is remembered from earlier sessions, and every run leaves a note "
              "of how it went. Off: nothing is told, and nothing is noted."),
    )  # fmt: skip
    learning: Learning = setting(
        "ask",
        About(MEMORY, "Learning", "After real work a small model looks back for what is worth keeping. Ask: you decide "
              "on each. Add: new ones are kept, changes ask you. Off: nobody looks back."),
    )  # fmt: skip
    learning_after: int = setting(
        10, About(MEMORY, "Real work", "Tool calls of a run after which somebody looks back.", 1, 10_000)
    )
    meaning: Folder = setting(
        Folder(""),
        About(MEMORY, "Meaning", "The folder of a small model (BERT, such as all-MiniLM-L6-v2), which runs on this "
              "computer and finds memories by what they mean. Empty: they are found by their words. "
              "“journeyman memory vectors” tries it and says how far it is."),
    )  # fmt: skip
    compact_at: int = setting(
        0,
        About("Limits", "Context", "Compact the context from so many tokens on. 0: at 80% of what the model takes.",
              0, 10**9),
    )  # fmt: skip
    web_search: Search = setting(
        "none", About(WEB, "Search engine", "What agents search the web with. None: they have no such tool.")
    )
    web_search_url: str = setting(
        "", About(WEB, "Address", "Of your SearXNG, else http://127.0.0.1:8888. Empty for the others: their own.")
    )
    tool_servers: tuple[ToolServer, ...] = setting(
        (), About(TOOLS, "Tool servers", "Programs and addresses that bring tools of their own.")
    )
    agents: tuple[OutsideAgent, ...] = setting(
        (), About("Other agents", "Other agents", "Agents of others that work in your folders.")
    )
    proxy: str = setting(
        "", About("Network", "Proxy", "Requests go through it, but not those to this machine. Empty: none is used.")
    )
    watch_agents: bool = setting(
        False,
        About("Other agents", "Watch", "Sessions of Claude Code, Codex and OpenCode on this computer are shown here "
              "while they go on. Their files are only read."),
    )  # fmt: skip
    receive_traces: int = setting(
        0,
        About("Network", "Receive traces", "The port on which other programs on this machine may send what their "
              "agents do, as OTLP; 4318 is usual. 0: nobody can.", 0, 65535),
    )  # fmt: skip
    send_traces: str = setting(
        "",
        About("Network", "Send traces", "The address of a server of traces (Jaeger, Langfuse, Phoenix), such as "
              "http://127.0.0.1:4318. It is sent what agents say and do, without keys. Empty: nothing is sent."),
    )  # fmt: skip
    connect_s: float = setting(10.0, About("Network", "Connect", "Wait so long for a connection.", 0.1, 600, "s"))
    first_s: float = setting(
        300.0, About("Network", "First word", "Wait so long for the first word of a reply.", 1, 3600, "s")
    )
    silence_s: float = setting(
        120.0, About("Network", "Silence", "Wait so long for the next word of a reply.", 1, 3600, "s")
    )


def about(name: str) -> About:
    """What a person reads of this setting."""
    found: About = next(one for one in fields(Settings) if one.name == name).metadata["about"]
    return found


def where(server: ToolServer) -> str:
    """Its address, or the line that starts it."""
    return server.url or " ".join((server.command, *server.args))
