"""Turns on semantic search of memories: installs the default model if it is missing, and checks the chosen one."""

from collections.abc import Callable

from core.domain.problems import Problem
from core.engine.services.memory_service import MemoryService
from core.memory.embedding_models import PACKAGE
from core.memory.model_installation import install_packages, missing_packages
from core.memory.semantic_search import SemanticSearchStatus
from core.settings.settings_file import SettingsFile


async def enable_semantic_search(
    settings: SettingsFile, memory: MemoryService, model: str = "", *, on_install: Callable[[list[str]], None]
) -> SemanticSearchStatus:
    """Use this embedding model, or the default one, and return the status.

    `on_install` is called with the packages before they are installed. If the model cannot be used, the previous
    setting stays and the Problem is raised.
    """
    if not model and (missing := missing_packages()):
        on_install(missing)
        await install_packages(missing)
    previous = settings.current.embedding_model
    settings.change(embedding_model=model or PACKAGE, memory=True)
    status = await memory.semantic_search_status()
    if status.error:
        settings.change(embedding_model=previous)
        raise Problem.from_details(status.error)
    return status
