"""Defines all settings. The settings dialog, its search, the help and the checks of values are generated from this."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, NewType

from core.domain.tiers import NO_TIERS
from core.domain.tiers import Tiers as Tiers

FORMAT_VERSION = 2
MODELS = "Models and API keys"
LOCAL_MODELS = "Local models"
MEMORY = "Memory and learning"
WEB = "Web search"
MCP_SERVERS = "MCP servers"
ApiFormat = Literal["chat", "responses", "anthropic", "ollama"]
SearchEngine = Literal["none", "searxng", "brave", "tavily"]
LearningPolicy = Literal["ask", "add", "off"]
PromptSize = Literal["auto", "full", "compact"]
CloseAction = Literal["ask", "background", "stop"]
EditorChoice = Literal["auto", "vscode", "cursor", "zed", "jetbrains", "sublime", "kate", "environment"]
Theme = Literal["system", "light", "dark", "contrast"]


class SettingInfo(NamedTuple):
    """How the settings dialog shows a setting.

    Attributes:
        page: the page of the dialog.
        low, high: the limits of a number, which has both; None for other settings.
        unit: the unit of a number.
    """

    page: str
    label: str
    help: str
    low: float | None = None
    high: float | None = None
    unit: str = ""


FIRST_TOKEN_TIMEOUT_S = 300.0
FolderPath = NewType("FolderPath", str)  # a text that is the path of a folder


def setting_field(default: Any, about: SettingInfo) -> Any:
    """Return a field of the dataclass Settings with its default and how the dialog shows it."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A model provider that the user added.

    Its API key is stored in the keyring, under the provider's name and address.

    Attributes:
        name: the part of its models' names before the slash.
        url: the base URL of its API.
        api: the format of the API.
        allow_http: whether http is allowed although the host is another computer.
        api_key_env: the name of the environment variable that holds the API key; empty for none.
    """

    name: str
    url: str
    api: ApiFormat = "chat"
    allow_http: bool = False
    api_key_env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceOverride:
    """Prices of a model that the user entered, in US dollars per million tokens. They are used instead of all others.

    Attributes:
        model: the name of the model, `PROVIDER/MODEL`.
        input, output: the prices of prompt tokens and of reply tokens.
        cache_read: the price of prompt tokens from the provider's cache; None if it is the same as `input`.
        context_window: the size of the model's context window in tokens; None if unknown.
    """

    model: str
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    context_window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpToolSettings:
    """A tool of an MCP server as the user approved it. If the server changes it, models still see this definition.

    Attributes:
        name: the name of the tool on the server.
        description: the description that models read.
        input_schema: the JSON Schema of the arguments, as JSON text.
        enabled: whether agents may use the tool.
    """

    name: str
    description: str = ""
    input_schema: str = "{}"
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class McpVariable:
    """An environment variable of a local MCP server, or an HTTP header that is sent to a remote one.

    `value` can contain `${NAME}` for the value of another environment variable, because the settings file stores no
    secrets. If `value` is empty, the value is in the keyring.
    """

    name: str
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    """An MCP server that the user added: a local program, or a URL.

    Attributes:
        name: the name that the names of its tools begin with.
        command, args: the program and its arguments; empty if the server has a URL.
        url: the address of the server; empty for a program.
        allow_http: whether http is allowed although the host is another computer.
        oauth: whether the user has signed in to the server; the tokens are in the keyring.
        variables: environment variables or HTTP headers, in addition to the default ones.
        enabled: whether agents may use its tools.
        tools: the tools that the user approved.
        package: the name of the package that contains the server; empty if the user added it.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    url: str = ""
    allow_http: bool = False
    oauth: bool = False
    variables: tuple[McpVariable, ...] = ()
    enabled: bool = True
    tools: tuple[McpToolSettings, ...] = ()
    package: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalAgentSettings:
    """An external agent: a program that works in a folder. Journeyman controls it by the Agent Client Protocol (ACP).

    Attributes:
        name: the part of its model name after `agent/`.
        command, args: the program and its arguments.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()

    def argv(self) -> tuple[str, ...]:
        return (self.command, *self.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings with their defaults. To add a setting, add a field."""

    theme: Theme = setting_field(
        "system", SettingInfo("Appearance", "Theme", "Light, dark, high contrast, or the same as the system.")
    )
    font_scale: int = setting_field(
        100, SettingInfo("Appearance", "Text size", "In percent of the default size.", low=80, high=200, unit="%")
    )
    on_close: CloseAction = setting_field(
        "ask",
        SettingInfo(
            "Appearance",
            "Closing the window",
            "What happens to running sessions: ask each time, keep them running in the background, or pause them after "
            "their current step and quit.",
        ),
    )
    editor: EditorChoice = setting_field(
        "auto",
        SettingInfo(
            "Appearance",
            "Editor",
            "Opens files at a line. Automatic: the first of these that is installed, or else $VISUAL or $EDITOR.",
        ),
    )
    model: str = setting_field(
        "",
        SettingInfo(
            MODELS,
            "Default model",
            "New sessions use this model, as PROVIDER/MODEL. If empty, you choose one for each session.",
        ),
    )
    tiers: Tiers = setting_field(
        NO_TIERS,
        SettingInfo(
            MODELS,
            "Model tiers",
            "Models for easy (small), medium (mid) and hard (frontier) work. If you list several, the first one that "
            "works is used. Context summaries and reviews of sessions use Small. A session with the model “auto” uses "
            "the tier that each step needs. An empty tier uses another one; if all are empty, the session's model does "
            "all.",
        ),
    )
    providers: tuple[Provider, ...] = setting_field(
        (),
        SettingInfo(MODELS, "Providers", "Model providers you added. Their API keys are stored in the system keyring."),
    )
    prices: tuple[PriceOverride, ...] = setting_field(
        (),
        SettingInfo(
            MODELS, "Prices", "Your own prices for models. They override those of providers and of the built-in table."
        ),
    )
    prompt_size: PromptSize = setting_field(
        "auto",
        SettingInfo(
            MODELS,
            "Prompt size",
            "A compact prompt has few instructions and only the tools to read, edit, write, run and ask. “Automatic” "
            "uses it for models with a context window of up to 32k tokens and for slow models on this computer.",
        ),
    )
    slow_models: tuple[str, ...] = setting_field(
        (),
        SettingInfo(
            MODELS,
            "Slow models",
            "Models on this computer that read prompts slowly. Journeyman adds such models when it detects them.",
        ),
    )
    text_call_models: tuple[str, ...] = setting_field(
        (),
        SettingInfo(
            MODELS,
            "Text-based tool calls",
            "Models without native tool calls: they write each call as text. Journeyman detects such models and adds "
            "them here. To check a model again, use the Test button of its provider.",
        ),
    )
    local_idle_minutes: int = setting_field(
        10,
        SettingInfo(
            LOCAL_MODELS,
            "Unload",
            "Minutes without a request after which a model that Journeyman runs itself is unloaded from memory.",
            low=1,
            high=1440,
            unit="min",
        ),
    )
    local_window: int = setting_field(
        0,
        SettingInfo(
            LOCAL_MODELS,
            "Context window",
            "Tokens. More need more memory. 0: as the memory of this computer allows.",
            low=0,
            high=1_000_000,
        ),
    )
    local_threads: int = setting_field(
        0,
        SettingInfo(
            LOCAL_MODELS, "Threads", "0: one for each processor core. Fewer keep other programs fast.", low=0, high=512
        ),
    )
    local_gpu_layers: int = setting_field(
        -1,
        SettingInfo(
            LOCAL_MODELS,
            "GPU layers",
            "How many layers run on the graphics card. -1: as many as fit in its memory. 0: none.",
            low=-1,
            high=1000,
        ),
    )
    max_turns: int = setting_field(
        60,
        SettingInfo("Limits", "Turns", "Model replies after which a run pauses. 0 means no limit.", low=0, high=10**9),
    )
    max_minutes: float = setting_field(
        0.0,
        SettingInfo(
            "Limits", "Time", "Minutes after which a run pauses. 0 means no limit.", low=0, high=10**6, unit="min"
        ),
    )
    max_tokens: int = setting_field(
        0,
        SettingInfo(
            "Limits",
            "Tokens",
            "Tokens sent and received after which a run pauses. 0 means no limit.",
            low=0,
            high=10**12,
        ),
    )
    max_cost: float = setting_field(
        0.0,
        SettingInfo(
            "Limits",
            "Cost",
            "US dollars after which a run pauses, if prices are known. 0 means no limit.",
            low=0,
            high=10**6,
            unit="$",
        ),
    )
    memory: bool = setting_field(
        True,
        SettingInfo(
            MEMORY,
            "Memory",
            "Agents receive relevant memories from earlier sessions, and every run records its "
            "outcome. Off: neither happens.",
        ),
    )
    learning: LearningPolicy = setting_field(
        "ask",
        SettingInfo(
            MEMORY,
            "Learning",
            "After longer runs, a small model reviews the session and proposes memories and "
            "skills. Ask: you decide on each proposal. Add: new ones are added, changes ask you. Off: no reviews.",
        ),
    )
    review_after_calls: int = setting_field(
        10,
        SettingInfo(
            MEMORY,
            "Review after",
            "Tool calls in a run after which the session is reviewed.",
            low=1,
            high=10_000,
            unit="calls",
        ),
    )
    embedding_model: FolderPath = setting_field(
        FolderPath(""),
        SettingInfo(
            MEMORY,
            "Semantic search",
            "The folder of an embedding model (BERT or MPNet, such as all-MiniLM-L6-v2), or a file in the GGUF format, "
            "that runs on this computer and finds memories by meaning. If empty, memories are found by keywords only. "
            "“journeyman memory index” tests the model and shows the progress.",
        ),
    )
    compact_at_tokens: int = setting_field(
        0,
        SettingInfo(
            "Limits",
            "Context",
            "Compact the context at this many tokens. 0: at 80% of the model's context window.",
            low=0,
            high=10**9,
        ),
    )
    search_engine: SearchEngine = setting_field(
        "none", SettingInfo(WEB, "Search engine", "The search engine agents use. None: agents cannot search the web.")
    )
    search_url: str = setting_field(
        "",
        SettingInfo(
            WEB,
            "Address",
            "The address of your SearXNG server, by default http://127.0.0.1:8888. Leave empty otherwise.",
        ),
    )
    mcp_servers: tuple[McpServerSettings, ...] = setting_field(
        (), SettingInfo(MCP_SERVERS, "MCP servers", "Local programs and remote servers that provide tools to agents.")
    )
    external_agents: tuple[ExternalAgentSettings, ...] = setting_field(
        (), SettingInfo("External agents", "External agents", "Agents that connect by the Agent Client Protocol (ACP).")
    )
    proxy: str = setting_field(
        "",
        SettingInfo("Network", "Proxy", "For all requests except those to this computer. If empty, no proxy is used."),
    )
    watch_sessions: bool = setting_field(
        False,
        SettingInfo(
            "External agents",
            "Watch sessions",
            "Shows sessions of Claude Code, Codex, pi, Gemini CLI and other agents on this "
            "computer while they run. Their files are only read.",
        ),
    )
    otlp_receive_port: int = setting_field(
        0,
        SettingInfo(
            "Network",
            "Receive traces",
            "The port on which other programs on this computer can send traces of their "
            "agents by OTLP, usually 4318. 0: off.",
            low=0,
            high=65535,
        ),
    )
    otlp_export_url: str = setting_field(
        "",
        SettingInfo(
            "Network",
            "Send traces",
            "The address of an OTLP server (Jaeger, Langfuse, Phoenix), such as "
            "http://127.0.0.1:4318. It receives everything agents say and do, with secrets removed. Empty: off.",
        ),
    )
    connect_timeout_s: float = setting_field(
        10.0, SettingInfo("Network", "Connect timeout", "Time to establish a connection.", low=0.1, high=600, unit="s")
    )
    first_token_timeout_s: float = setting_field(
        FIRST_TOKEN_TIMEOUT_S,
        SettingInfo(
            "Network",
            "First token timeout",
            "Time until the first token of a reply. If it is not changed, servers on this computer get an hour.",
            low=1,
            high=3600,
            unit="s",
        ),
    )
    idle_timeout_s: float = setting_field(
        120.0,
        SettingInfo("Network", "Idle timeout", "Time until the next token of a reply.", low=1, high=3600, unit="s"),
    )


def setting_info(name: str) -> SettingInfo:
    """Return how the dialog shows a setting, with its label and help text."""
    setting = next(setting for setting in fields(Settings) if setting.name == name)
    info: SettingInfo = setting.metadata["about"]
    return info


def server_location(server: McpServerSettings) -> str:
    """Return the URL of an MCP server, or if it is a local program, the command line that starts it."""
    return server.url or " ".join((server.command, *server.args))
