"""The list of importers. A file is read by the first importer that recognizes it, so distinctive formats come first."""

from core.exchange.importers.aider import AiderImporter
from core.exchange.importers.amp import AmpImporter
from core.exchange.importers.atif import AtifImporter
from core.exchange.importers.chatgpt import ChatGptImporter
from core.exchange.importers.claude_ai import ClaudeAiImporter
from core.exchange.importers.claude_code import ClaudeCodeImporter
from core.exchange.importers.cline import ClineImporter
from core.exchange.importers.codex import CodexImporter
from core.exchange.importers.codex_exec import CodexExecImporter
from core.exchange.importers.copilot_cli import CopilotCliImporter
from core.exchange.importers.cursor import CursorImporter
from core.exchange.importers.droid import DroidImporter
from core.exchange.importers.followable import FollowableImporter
from core.exchange.importers.gemini_cli import GeminiCliImporter
from core.exchange.importers.goose import GooseImporter
from core.exchange.importers.hermes import HermesImporter
from core.exchange.importers.inspect_ai import InspectImporter
from core.exchange.importers.kimi import KimiImporter
from core.exchange.importers.mini_swe_agent import MiniSweAgentImporter
from core.exchange.importers.opencode import OpenCodeImporter
from core.exchange.importers.openhands import OpenHandsImporter
from core.exchange.importers.opentelemetry import OpenTelemetryImporter
from core.exchange.importers.pi import PiImporter
from core.exchange.importers.qwen_code import QwenCodeImporter
from core.exchange.importers.record import Importer
from core.exchange.importers.roo_code import RooCodeImporter
from core.exchange.importers.slack import SlackImporter
from core.exchange.importers.swe_agent import SweAgentImporter

FOLLOWABLE: tuple[FollowableImporter, ...] = (
    CodexImporter(),
    PiImporter(),
    GeminiCliImporter(),
    CopilotCliImporter(),
    ClineImporter(),
    RooCodeImporter("Roo Code", "rooveterinaryinc.roo-cline", ".vscode-mock/global-storage/tasks/*/ui_messages.json"),
    RooCodeImporter("Cline (editor)", "saoudrizwan.claude-dev"),
    KimiImporter(),
    DroidImporter(),
    AmpImporter(),
    GooseImporter(),
    HermesImporter(),
    CursorImporter(),
    AiderImporter(),
    QwenCodeImporter(),
    ClaudeCodeImporter(),
    OpenCodeImporter(),
)
IMPORTERS: tuple[Importer, ...] = (
    *FOLLOWABLE,
    CodexExecImporter(),
    ChatGptImporter(),
    ClaudeAiImporter(),
    SlackImporter(),
    AtifImporter(),
    OpenTelemetryImporter(),
    InspectImporter(),
    MiniSweAgentImporter(),
    SweAgentImporter(),
    OpenHandsImporter(),
)
