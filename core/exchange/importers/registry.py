"""The registry of importers, those with the most distinctive formats first."""

from core.exchange.importers.atif import AtifImporter
from core.exchange.importers.claude_code import ClaudeCodeImporter
from core.exchange.importers.cline import ClineImporter
from core.exchange.importers.codex import CodexImporter
from core.exchange.importers.codex_exec import CodexExecImporter
from core.exchange.importers.copilot_cli import CopilotCliImporter
from core.exchange.importers.followable import FollowableImporter
from core.exchange.importers.gemini_cli import GeminiCliImporter
from core.exchange.importers.inspect_ai import InspectImporter
from core.exchange.importers.mini_swe_agent import MiniSweAgentImporter
from core.exchange.importers.opencode import OpenCodeImporter
from core.exchange.importers.openhands import OpenHandsImporter
from core.exchange.importers.opentelemetry import OpenTelemetryImporter
from core.exchange.importers.pi import PiImporter
from core.exchange.importers.qwen_code import QwenCodeImporter
from core.exchange.importers.record import Importer
from core.exchange.importers.swe_agent import SweAgentImporter

CODEX, CLAUDE_CODE, OPENCODE, QWEN_CODE = CodexImporter(), ClaudeCodeImporter(), OpenCodeImporter(), QwenCodeImporter()
GEMINI_CLI, PI, COPILOT_CLI, CLINE = GeminiCliImporter(), PiImporter(), CopilotCliImporter(), ClineImporter()
FOLLOWABLE: tuple[FollowableImporter, ...] = (
    CODEX, CLAUDE_CODE, OPENCODE, QWEN_CODE, GEMINI_CLI, PI, COPILOT_CLI, CLINE
)  # fmt: skip
IMPORTERS: tuple[Importer, ...] = (
    CODEX,
    CodexExecImporter(),
    PI,
    GEMINI_CLI,
    COPILOT_CLI,
    CLINE,
    QWEN_CODE,
    CLAUDE_CODE,
    AtifImporter(),
    OpenTelemetryImporter(),
    InspectImporter(),
    OPENCODE,
    MiniSweAgentImporter(),
    SweAgentImporter(),
    OpenHandsImporter(),
)
