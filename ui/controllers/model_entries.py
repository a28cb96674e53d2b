"""The searchable list of models, each with context window, price, abilities, and the source of its API key."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from core.domain.tiers import AUTO, Tiers
from ui.palette.ranking import PaletteEntry
from ui.settings.provider_card import api_key_text
from ui.style.number_formats import amount
from ui.text.visible import visible

if TYPE_CHECKING:
    from core.engine.services.providers import ModelRow, ProvidersOverview


def model_entries(overview: "ProvidersOverview", tiers: Tiers, current: str) -> list[PaletteEntry]:
    """Return an entry for each model, the current one first, followed by one for each tier that has models."""
    entries = [
        _entry(model.name, " · ".join((visible(row.title or row.name), model_facts(model), api_key_text(row))), current)
        for row in overview.providers
        for model in row.models
    ]
    if current and not any(entry.id == current for entry in entries):
        entries.append(_entry(current, "", current))
    entries.sort(key=lambda entry: entry.id != current)
    named = {"small": tiers.small, "mid": tiers.mid, "frontier": tiers.frontier}
    filled = {name: ", ".join(models) for name, models in named.items() if models}
    if filled:
        entries.append(_entry(AUTO, _tr("each step uses the tier that it needs"), current, _tr("Tiers: automatic")))
    texts = {"small": _tr("Tier: small"), "mid": _tr("Tier: medium"), "frontier": _tr("Tier: frontier")}
    return entries + [_entry(name, models, current, texts[name]) for name, models in filled.items()]


def model_facts(model: "ModelRow") -> str:
    """Return a line with the context window, price and abilities of a model, including which of them are unknown."""
    window = amount(model.context_window) if model.context_window else _tr("context window unknown")
    if model.price_in is None or model.price_out is None:
        price = _tr("price unknown")
    elif model.price_in == model.price_out == 0:
        price = _tr("free")
    else:
        price = _tr("${in_}/${out} per 1M").format(in_=f"{model.price_in:g}", out=f"{model.price_out:g}")
    tools = {True: _tr("tools"), False: _tr("no tool calls"), None: ""}[model.tools]
    return " · ".join(part for part in (window, price, tools, _tr("images") if model.images else "") if part)


def _entry(name: str, detail: str, current: str, text: str = "") -> PaletteEntry:
    mark = _tr("in use") if name == current else ""
    return PaletteEntry(name, text or visible(name), detail, mark, "cpu", "accent" if mark else "second")


def _tr(text: str) -> str:
    return QCoreApplication.translate("models", text)
