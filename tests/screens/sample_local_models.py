"""Sample states of the local models for the screenshots of the start page and the settings."""

from dataclasses import replace
from typing import Final

from core.domain.problems import ErrorDetails
from core.models.local.model_state import DownloadProgress, LocalModelRow, LocalModelStates, ModelSpeed
from core.models.local.model_table import local_model_table

NOT_DOWNLOADED: Final = LocalModelStates(
    tuple(
        LocalModelRow(model.name, model.title, model.purpose, model.license, model.size, model.memory, model.window)
        for model in local_model_table().values()
    )
)
_FIRST, _SECOND, _THIRD, *_REST = NOT_DOWNLOADED.rows
DOWNLOADING: Final = LocalModelStates(
    (replace(_FIRST, download=DownloadProgress(480_000_000, _FIRST.size, 12_400_000)), _SECOND, _THIRD, *_REST)
)
ON_THIS_COMPUTER: Final = LocalModelStates(
    (
        replace(_FIRST, path="/models/a.gguf", origin="Journeyman", speed=ModelSpeed(57.2, 18.4), load_state="loaded"),
        replace(_SECOND, download=DownloadProgress(1_480_000_000, _SECOND.size, 12_400_000)),
        replace(_THIRD, partial=_THIRD.size // 3),
        replace(
            _REST[0],
            error=ErrorDetails(
                "There is not enough disk space for qwen3-8b.", "The download needs 5.3 GB; 2.1 GB are free.",
                "Free some disk space.",
            ),
        ),
        replace(_REST[1], fits=False),
        LocalModelRow(
            "ollama/llama3.2:3b", "llama3.2:3b", "", "", 2_019_377_376, 3_400_000_000, 32_768, "/b", "Ollama"
        ),
    )
)  # fmt: skip
