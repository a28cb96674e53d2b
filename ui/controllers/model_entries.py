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
    entries: list[PaletteEntry] = []
    for row in overview.providers:
        for model in row.models:
            detail = " · ".join((visible(row.title or row.name), model_facts(model), api_key_text(row)))
            entries.append(_entry(model.name, detail, current))
    if current and not any(entry.id == current for entry in entries):
        entries.append(_entry(current, "", current))
    entries.sort(key=lambda entry: entry.id != current)
    return [*entries, *_tier_entries(tiers, current)]


def _tier_entries(tiers: Tiers, current: str) -> list[PaletteEntry]:
    """Return an entry for the automatic choice of a tier, and one for each tier that has models."""
    models_by_tier = {"small": tiers.small, "mid": tiers.mid, "frontier": tiers.frontier}
    texts = {"small": _tr("Tier: small"), "mid": _tr("Tier: medium"), "frontier": _tr("Tier: frontier")}
    entries = [
        _entry(tier, ", ".join(models), current, text=texts[tier]) for tier, models in models_by_tier.items() if models
    ]
    if not entries:
        return []
    automatic_detail = _tr("each step uses the tier that it needs")
    return [_entry(AUTO, automatic_detail, current, text=_tr("Tiers: automatic")), *entries]


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


def _entry(model: str, detail: str, current: str, *, text: str = "") -> PaletteEntry:
    """Return the entry of a model or tier. Without a `text`, the name of the model is shown."""
    is_current = model == current
    return PaletteEntry(
        id=model,
        text=text or visible(model),
        detail=detail,
        keys=_tr("in use") if is_current else "",
        icon="cpu",
        token="accent" if is_current else "second",
    )


def _tr(text: str) -> str:
    return QCoreApplication.translate("models", text)
