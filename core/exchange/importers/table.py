"""Every program whose transcripts are read, the surest to be told apart first."""

from core.exchange.importers.atif import Atif
from core.exchange.importers.claude_code import ClaudeCode
from core.exchange.importers.codex import Codex
from core.exchange.importers.growing import Growing
from core.exchange.importers.inspect_log import Inspect
from core.exchange.importers.mini_swe_agent import MiniSweAgent
from core.exchange.importers.opencode import OpenCode
from core.exchange.importers.openhands import OpenHands
from core.exchange.importers.opentelemetry import OpenTelemetry
from core.exchange.importers.record import Importer
from core.exchange.importers.swe_agent import SweAgent

CODEX, CLAUDE_CODE, OPENCODE = Codex(), ClaudeCode(), OpenCode()
GROWING: tuple[Growing, ...] = (CODEX, CLAUDE_CODE, OPENCODE)  # those that can be followed as they grow
IMPORTERS: tuple[Importer, ...] = (
    CODEX,
    CLAUDE_CODE,
    Atif(),
    OpenTelemetry(),
    Inspect(),
    OPENCODE,
    MiniSweAgent(),
    SweAgent(),
    OpenHands(),
)
