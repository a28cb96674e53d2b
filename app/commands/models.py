"""The command `models`: the model providers, their models and their API keys."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE, FAILED
from core.domain.problems import Problem
from core.engine.services.providers import ModelRow, ProviderRow, ProvidersOverview
from core.models.model_check import ModelCheck

SHOWN = 40  # most models printed per provider; --json prints all of them


async def models(context: Invocation) -> int:
    return await ACTIONS[context.args.action](context)


def reachable_providers(overview: ProvidersOverview) -> list[ProviderRow]:
    """Return the providers that are configured or running, without the built-in ones that are not set up."""
    return [
        row for row in overview.providers if row.models or row.error or row.key_from or row.added_by != "Journeyman"
    ]


async def _list(context: Invocation) -> int:
    found = await context.engine.providers_overview(fresh=True)
    if context.args.json:
        for row in found.providers:
            context.out.write_json({"kind": "provider", **asdict(row)})
        rest = {name: value for name, value in asdict(found).items() if name != "providers"}
        context.out.write_json({"kind": "models", **rest})
        return DONE
    write = context.out.write
    there = reachable_providers(found)
    for row in there:
        _tell(row, write)
    others = [row for row in found.providers if row not in there]
    local = [f"{row.name} ({row.url})" for row in others if not row.needs_key]
    if local:
        write(f"Not running here: {', '.join(local)}")
    if far := [row.name for row in others if row.needs_key]:
        write(f"No API key: {', '.join(far)}. Set one: journeyman models key NAME")
    write(f"New sessions use: {found.model or 'no model; choose one: journeyman models use PROVIDER/MODEL'}")
    write(f"Keyring: {found.keyring or 'none'}")
    if found.keyring_error:
        write(f"  {found.keyring_error}")
    write(f"Prices per 1M tokens: from the provider, else as of {found.prices_date} ({found.prices_source}).")
    if found.proxy:
        write(f"Proxy: {found.proxy}")
    if found.unused_proxy:
        write(f"The environment names a proxy, which is not used. Use it: journeyman models proxy {found.unused_proxy}")
    return DONE


def _tell(row: ProviderRow, write: Callable[[str], None]) -> None:
    key = f"API key: {row.key_from}" if row.key_from else "no API key needed" if not row.needs_key else "no API key"
    write(f"{row.name}  {row.url}  ({row.api_format}; {key})")
    if row.error:
        write(f"  {row.error}")
    elif row.reachable is False:
        write("  Nothing listens at this address.")
    for model in row.models[:SHOWN]:
        write(f"  {model.name}  {_figures(model)}")
    if len(row.models) > SHOWN:
        write(f"  and {len(row.models) - SHOWN} more: journeyman models --json")


def _figures(model: ModelRow) -> str:
    window = f"{model.context_window:,} tokens" if model.context_window else "window unknown"
    if model.price_in is None or model.price_out is None:
        price = "price unknown"
    elif model.price_in == model.price_out == 0:
        price = "free"
    else:
        price = f"${model.price_in:g} in, ${model.price_out:g} out ({model.price_from})"
    return f"{window}, {price}" + (", no tool calls" if model.tools is False else "")


async def _add(context: Invocation) -> int:
    typed = context.args
    added = await context.engine.providers.add(
        typed.name, typed.url, typed.api, allow_http=typed.allow_http, variable=typed.api_key_env
    )
    context.out.write(f"Added {added.name} at {added.url}. If it needs an API key: journeyman models key {added.name}")
    return DONE


async def _remove(context: Invocation) -> int:
    await context.engine.providers.remove(context.args.name)
    context.out.write(f"Removed {context.args.name} and its API key.")
    return DONE


async def _test(context: Invocation) -> int:
    trial = await context.engine.test_model(context.args.model)
    if context.args.json:
        context.out.write_json(asdict(trial))
    else:
        _tell_trial(trial, context)
    return FAILED if trial.error else DONE


def _tell_trial(trial: ModelCheck, context: Invocation) -> None:
    out = context.out
    if trial.error:
        out.print_error(trial.error)
        return
    first = f"first token after {trial.first_token_s:.2f} s, " if trial.first_token_s is not None else ""
    out.write(f"{trial.model} works: {first}complete after {trial.total_s or 0:.2f} s.")
    streams = {True: "yes", False: "no, the reply came in one piece", None: "unknown: the reply was empty"}
    tools = {True: "yes", False: "no", None: "unknown"}
    out.write(f"  Streams: {streams[trial.streams]}")
    why = f" ({trial.tools_error.message} {trial.tools_error.cause})" if trial.tools_error else ""
    out.write(f"  Calls tools: {tools[trial.tools]}{why}")
    out.write(f"  Cost: {'unknown' if trial.cost is None else f'${trial.cost:.6f}'}")
    out.write(f"  Reply: {trial.reply[:200] or '(empty)'}")


async def _key(context: Invocation) -> int:
    typed, providers = context.args, context.engine.providers
    if typed.forget:
        there = await providers.remove_api_key(typed.name)
        context.out.write(f"Deleted the API key of {typed.name}." if there else f"{typed.name} had no API key.")
        return DONE
    kept = await providers.set_api_key(typed.name, typed.given[0], save=not typed.session)
    if kept.error:
        context.out.print_error(kept.error)
    where = "in the keyring" if kept.source == "keyring" else "until Journeyman exits"
    context.out.write(f"The API key of {typed.name} is kept {where}.")
    return FAILED if kept.error else DONE


async def _use(context: Invocation) -> int:
    typed = context.args
    if typed.session:
        row = context.engine.session(typed.session)
        await context.engine.choose_model(row.id, typed.model, effort=typed.effort)
        context.out.write(f"“{row.title}” uses {typed.model} from now on.")
        return DONE
    if typed.effort:
        raise Problem("--effort needs --session.", "", "Name a session, or leave --effort out.")
    context.engine.providers.check(context.args.model)
    context.engine.settings.change(model=context.args.model)
    context.out.write(f"New sessions use {context.args.model}.")
    return DONE


async def _proxy(context: Invocation) -> int:
    url = "" if context.args.url == "none" else context.args.url
    context.engine.settings.change(proxy=url)
    context.out.write(f"Requests go through {url}, except those to this computer." if url else "No proxy is used.")
    return DONE


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = MappingProxyType(
    {
        "list": _list,
        "add": _add,
        "remove": _remove,
        "test": _test,
        "key": _key,
        "use": _use,
        "proxy": _proxy,
    }
)
