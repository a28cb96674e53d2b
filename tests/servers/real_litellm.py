"""A LiteLLM proxy in front of another server, which translates the Anthropic, Responses and Chat Completions APIs."""

import contextlib
import json
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.servers.process import serving
from tests.servers.real import environment

VERSION = "1.106.2"


@contextlib.contextmanager
def serve_litellm(behind: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Serve `up`, a model of the server behind it, and some mock models; yields the URL and the API key."""
    programs = environment(f"litellm-{VERSION}", f"litellm[proxy]=={VERSION}")
    models = [
        {
            "model_name": "up",
            "litellm_params": {"model": "openai/gpt-4o", "api_base": f"{behind}/v1", "api_key": "none-needed"},
        },
        {"model_name": "said", "litellm_params": {"model": "openai/x", "api_key": "x", "mock_response": "It is said."}},
        {
            "model_name": "limited",
            "litellm_params": {"model": "openai/x", "api_key": "x", "mock_response": "litellm.RateLimitError"},
        },
        {
            "model_name": "small",
            "litellm_params": {
                "model": "openai/x",
                "api_key": "x",
                "mock_response": "litellm.ContextWindowExceededError",
            },
        },
    ]
    file = folder / "litellm.yaml"  # JSON is YAML
    file.write_text(json.dumps({"model_list": models, "litellm_settings": {"num_retries": 0}}), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(programs / "litellm"), "--config", str(file), "--host", "127.0.0.1", "--port", str(port)]
    key = f"sk-{secrets.token_hex(32)}"  # it does not start without one
    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": key}
    with serving([*command, "--telemetry", "False"], r"Uvicorn running on", folder / "litellm.log", env):
        yield f"http://127.0.0.1:{port}", key
