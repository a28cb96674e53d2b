"""Traces that real agent frameworks send while they run are received completely."""

import asyncio
import json
from pathlib import Path

import pytest

from core.exchange.trace_receiver import TraceReceiver
from core.store.journal_update import JournalUpdate
from tests.core.exchange.home import home
from tests.core.exchange.test_trace_receiver import calls_of, counted
from tests.servers.aimock import serve_aimock
from tests.servers.real import ENABLED, REASON, environment

pytestmark = pytest.mark.skipif(not ENABLED, reason=REASON)

TASK = "how warm is it in Oslo"
CALL = {"name": "weather", "arguments": json.dumps({"city": "Oslo"})}
USED = {"prompt_tokens": 40, "completion_tokens": 6}
FIXTURES = [
    {"match": {"userMessage": TASK, "hasToolResult": False}, "response": {"toolCalls": [CALL], "usage": USED}},
    {"match": {"userMessage": TASK, "toolResultContains": "-3"}, "response": {"content": "It is -3.", "usage": USED}},
]
SENDS = """
import sys
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

model, traces, task = sys.argv[1:]
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=traces + "/v1/traces")))


def weather(city: str) -> str:
    '''How warm it is.

    Args:
        city: where
    '''
    return f"{city}: -3"
"""
PYDANTIC_AI = """
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

served = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=model + "/v1", api_key="none-needed"))
watched = Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))
Agent(served, tools=[weather], capabilities=[watched]).run_sync(task)
provider.shutdown()
"""
OPENINFERENCE = """
from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor

OpenAIInstrumentor().instrument(tracer_provider=provider)
client = OpenAI(base_url=model + "/v1", api_key="none-needed")
schema = {"type": "object", "properties": {"city": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "weather", "description": "How warm", "parameters": schema}}]
messages = [{"role": "user", "content": task}]
with provider.get_tracer("agent").start_as_current_span("agent", attributes={"openinference.span.kind": "AGENT"}):
    asked = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
    call = asked.tool_calls[0]
    messages += [asked.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "Oslo: -3"}]
    client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
provider.shutdown()
"""
SDK = ("opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2")
FRAMEWORKS = {
    "pydantic-ai": (PYDANTIC_AI, ("pydantic-ai-slim[openai]==2.68.0", *SDK)),
    "OpenInference": (OPENINFERENCE, ("openai==3.54.0", "openinference-instrumentation-openai==0.1.66", *SDK)),
}
BOUND_S = 120


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_agent_of_a_framework_is_shown_while_it_runs(name: str, tmp_path: Path) -> None:
    script, needed = FRAMEWORKS[name]
    python = environment(f"framework-{name}", *needed) / "python"
    (tmp_path / "agent.py").write_text(SENDS + script)

    async def main(model: str) -> None:
        async with home(tmp_path / "a.db") as made:
            receiver, seen = TraceReceiver(made.journal), list[str]()
            made.journal.listen(lambda told: _note(told, seen))
            await receiver.listen(0)
            try:
                words = [str(tmp_path / "agent.py"), model, f"http://127.0.0.1:{receiver.port}", TASK]
                process = await asyncio.create_subprocess_exec(python, *words, stderr=asyncio.subprocess.PIPE)
                async with asyncio.timeout(BOUND_S):
                    _, said = await process.communicate()
                assert process.returncode == 0, said.decode()
                (row,) = made.reader.sessions()
                assert row.status == seen[-1] == "done" and "running" in seen  # it grew during the run
                assert await counted(made, row.id) == (1, 2, 1, 1, 80, 12)
                assert calls_of(await made.events(row.id)) == [("weather", {"city": "Oslo"})]
            finally:
                await receiver.close()

    with serve_aimock(FIXTURES, tmp_path) as model:
        asyncio.run(main(model))


def _note(told: JournalUpdate, seen: list[str]) -> None:
    seen.append(told.session.status)
