"""The command `models`: the model providers, their models and their API keys."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from app.commands.invocation import Invocation, UsageProblem
from app.process.exit_codes import DONE, FAILED
from core.engine.services.providers import ModelRow, ProviderRow, ProvidersOverview
from core.models.errors import format_duration
from core.models.local.model_state import DownloadProgress, LocalModelRow
from core.models.model_check import ModelCheck
from core.settings.schema import Provider

PROGRESS_S = 2.0  # seconds between two progress lines of a download
MAX_MODELS = 40  # most models printed per provider; --json prints all of them


async def models(context: Invocation) -> int:
    return await ACTIONS[context.args.action](context)


def reachable_providers(overview: ProvidersOverview) -> list[ProviderRow]:
    """Return the providers that are configured or running. Built-in providers that are not set up are left out."""
    return [
        row for row in overview.providers if row.models or row.error or row.key_from or row.added_by != "Journeyman"
    ]


async def _list(context: Invocation) -> int:
    local_models = (await context.engine.providers.local_models.refresh()).rows
    overview = await context.engine.providers_overview(fresh=True)
    if context.args.json:
        _print_json(context, overview, local_models)
        return DONE
    write = context.out.write
    available = reachable_providers(overview)
    for row in available:
        _print_provider(row, write)
    write("Models that Journeyman runs on this computer:")
    for model in local_models:
        write(f"  local/{model.name}  {_local_figures(model)}")
    _print_unavailable([row for row in overview.providers if row not in available], write)
    _print_defaults(overview, write)
    return DONE


def _print_json(context: Invocation, overview: ProvidersOverview, local_models: Sequence[LocalModelRow]) -> None:
    for row in overview.providers:
        context.out.write_json({"kind": "provider", **asdict(row)})
    for model in local_models:
        context.out.write_json({"kind": "local_model", **asdict(model)})
    defaults = {name: value for name, value in asdict(overview).items() if name != "providers"}
    context.out.write_json({"kind": "models", **defaults})


def _print_unavailable(rows: Sequence[ProviderRow], write: Callable[[str], None]) -> None:
    if not_running := [f"{row.name} ({row.url})" for row in rows if not row.needs_key]:
        write(f"Not running here: {', '.join(not_running)}")
    if without_key := [row.name for row in rows if row.needs_key]:
        write(f"No API key: {', '.join(without_key)}. Set one: journeyman models key NAME")


def _print_defaults(overview: ProvidersOverview, write: Callable[[str], None]) -> None:
    """Print what applies to all providers: the model of new sessions, the keyring, the prices and the proxy."""
    write(f"New sessions use: {overview.model or 'no model; choose one: journeyman models use PROVIDER/MODEL'}")
    write(f"Keyring: {overview.keyring or 'none'}")
    if overview.keyring_error:
        write(f"  {overview.keyring_error}")
    write(f"Prices per 1M tokens: from the provider, else as of {overview.prices_date} ({overview.prices_source}).")
    if overview.proxy:
        write(f"Proxy: {overview.proxy}")
    if overview.unused_proxy:
        hint = f"Use it: journeyman models proxy {overview.unused_proxy}"
        write(f"The environment names a proxy, which is not used. {hint}")


def _print_provider(row: ProviderRow, write: Callable[[str], None]) -> None:
    key = "no API key" if row.needs_key else "no API key needed"
    if row.key_from:
        key = f"API key: {row.key_from}"
    write(f"{row.name}  {row.url}  ({row.api_format}; {key})")
    if row.error:
        write(f"  {row.error}")
    elif row.reachable is False:
        write("  Nothing listens at this address.")
    for model in row.models[:MAX_MODELS]:
        write(f"  {model.name}  {_figures(model)}")
    if len(row.models) > MAX_MODELS:
        write(f"  and {len(row.models) - MAX_MODELS} more: journeyman models --json")


def _figures(model: ModelRow) -> str:
    window = f"{model.context_window:,} tokens" if model.context_window else "window unknown"
    if model.price_in is None or model.price_out is None:
        price = "price unknown"
    elif model.price_in == model.price_out == 0:
        price = "free"
    else:
        price = f"${model.price_in:g} in, ${model.price_out:g} out ({model.price_from})"
    tools = ", no tool calls" if model.tools is False else ""
    return f"{window}, {price}{tools}"


async def _add(context: Invocation) -> int:
    args = context.args
    added = Provider(
        name=args.name, url=args.url, api=args.api, allow_http=args.allow_http, api_key_env=args.api_key_env
    )
    await context.engine.providers.add(added)
    context.out.write(f"Added {added.name} at {added.url}. If it needs an API key: journeyman models key {added.name}")
    return DONE


async def _remove(context: Invocation) -> int:
    await context.engine.providers.remove(context.args.name)
    context.out.write(f"Removed {context.args.name} and its API key.")
    return DONE


async def _test(context: Invocation) -> int:
    check = await context.engine.test_model(context.args.model)
    if context.args.json:
        context.out.write_json(_check_json(check))
    else:
        _print_check(check, context)
    return FAILED if check.error else DONE


def _check_json(check: ModelCheck) -> dict[str, Any]:
    """Return the result of testing a model, with the keys `tools` and `tools_error` that scripts read."""
    values = asdict(check)
    values["tools"] = values.pop("calls_tools")
    values["tools_error"] = values.pop("tool_call_error")
    return values


def _print_check(check: ModelCheck, context: Invocation) -> None:
    out = context.out
    if check.error:
        out.print_error(check.error)
        return
    first_token_text = f"first token after {check.first_token_s:.2f} s, " if check.first_token_s is not None else ""
    out.write(f"{check.model} works: {first_token_text}complete after {check.total_s or 0:.2f} s.")
    streams = {True: "yes", False: "no, the reply came in one piece", None: "unknown: the reply was empty"}
    tools = {True: "yes", False: "no", None: "unknown"}
    out.write(f"  Streams: {streams[check.streams]}")
    reason = f" ({check.tool_call_error.message} {check.tool_call_error.cause})" if check.tool_call_error else ""
    out.write(f"  Calls tools: {tools[check.calls_tools]}{reason}")
    out.write(f"  Cost: {'unknown' if check.cost is None else f'${check.cost:.6f}'}")
    out.write(f"  Reply: {check.reply[:200] or '(empty)'}")


def _local_figures(row: LocalModelRow) -> str:
    state = "not downloaded"
    if row.is_available:
        state = f"file of {row.origin}" if row.origin not in ("Journeyman", "you") else "on this computer"
    elif row.download:
        state = f"downloading, {_progress(row.download)}"
    elif row.partial:
        state = f"{row.partial * 100 // row.size}% downloaded"
    parts = [f"{_gigabytes(row.size)}, needs {_gigabytes(row.memory)} of memory", row.license, state]
    if row.speed.reply:
        parts.append(f"writes {row.speed.reply:g} tokens/s")
    purpose = f": {row.purpose}" if row.purpose else ""
    return ", ".join(filter(None, parts)) + purpose


def _progress(progress: DownloadProgress) -> str:
    left = progress.seconds_left
    rest = f", {format_duration(round(left))} left" if left is not None else ""
    percent = progress.done * 100 // progress.size
    return f"{percent}% of {_gigabytes(progress.size)}, {progress.speed / 1e6:.1f} MB/s{rest}"


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"


async def _pull(context: Invocation) -> int:
    """Download a model, or follow its download if the window has started one."""
    models = context.engine.providers.local_models
    name = context.args.name.removeprefix("local/")
    if "://" in name:
        name = await models.add_address(name)
    started = models.start_download(name)
    try:
        while progress := await models.wait_for_download(name, PROGRESS_S):
            context.out.write_error(_progress(progress))
    finally:
        if started:
            await models.pause_download(name)
    context.out.write(f'Downloaded. Use it: journeyman run "TASK" -m local/{name}')
    return DONE


async def _rm(context: Invocation) -> int:
    name = context.args.name.removeprefix("local/")
    existed = await context.engine.providers.local_models.remove(name)
    context.out.write(f"Deleted {name}." if existed else f"{name} was not downloaded.")
    return DONE


async def _key(context: Invocation) -> int:
    args, providers = context.args, context.engine.providers
    if args.forget:
        existed = await providers.remove_api_key(args.name)
        context.out.write(f"Deleted the API key of {args.name}." if existed else f"{args.name} had no API key.")
        return DONE
    stored = await providers.set_api_key(args.name, args.given[0], save=not args.session)
    if stored.error:
        context.out.print_error(stored.error)
    location = "in the keyring" if stored.source == "keyring" else "until Journeyman exits"
    context.out.write(f"The API key of {args.name} is kept {location}.")
    return FAILED if stored.error else DONE


async def _use(context: Invocation) -> int:
    args = context.args
    if args.session:
        row = context.engine.session(args.session)
        await context.engine.choose_model(row.id, args.model, effort=args.effort)
        context.out.write(f"“{row.title}” uses {args.model} from now on.")
        return DONE
    if args.effort:
        raise UsageProblem("--effort needs --session.", "", "Name a session, or leave --effort out.")
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
        "pull": _pull,
        "rm": _rm,
        "remove": _remove,
        "test": _test,
        "key": _key,
        "use": _use,
        "proxy": _proxy,
    }
)
