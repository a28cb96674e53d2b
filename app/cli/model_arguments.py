"""The arguments of `journeyman models`."""

from typing import get_args

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option
from app.cli.run_arguments import EFFORTS
from core.settings.schema import ApiFormat

EXAMPLES = """\
Examples:
  journeyman models pull qwen2.5-coder-1.5b
  journeyman models add mine http://127.0.0.1:8080/v1
  journeyman models key anthropic
  journeyman models use ollama/qwen3"""


def add_models(add: AddCommand) -> None:
    models = add("models", "List the model providers and their models, or change them.")
    models.epilog = EXAMPLES
    action = models.group(default="list")
    json_option(action("list", "List the providers, and their models with context window and price."))
    new = action("add", "Add a provider, or change the one of this name.")
    new.add_argument("name", metavar="NAME", help="The name before the slash of its models")
    new.add_argument("url", metavar="URL", help="The base URL, such as http://127.0.0.1:8080/v1")
    new.add_argument("--api", choices=get_args(ApiFormat), default="chat", help="The API format (default: chat)")
    http_help = "Allow http:// beyond this computer, where others on the network can read it"
    new.add_argument("--allow-http", action="store_true", help=http_help)
    variable_help = "Read the API key from this environment variable"
    new.add_argument("--api-key-env", metavar="NAME", default="", help=variable_help)
    pull = action("pull", "Download a model that Journeyman runs on this computer, or continue its download.")
    name_help = "A model that `journeyman models list` shows as local/NAME, or the URL of a file in the GGUF format"
    pull.add_argument("name", metavar="NAME", help=name_help)
    rm = action("rm", "Delete the file of a downloaded model.")
    rm.add_argument("name", metavar="NAME")
    remove = action("remove", "Remove a provider that you added, and its API key.")
    remove.add_argument("name", metavar="NAME")
    test = action("test", "Send a model two tiny requests, to see whether it answers, streams and calls tools.")
    test.add_argument("model", metavar="MODEL", help="The model, as PROVIDER/MODEL")
    json_option(test)
    key = action("key", "Set the API key of a provider, from a prompt or a line of standard input.")
    key.add_argument("name", metavar="NAME")
    lifetime = key.add_mutually_exclusive_group()
    lifetime.add_argument("--forget", action="store_true", help="Delete the key")
    lifetime.add_argument("--session", action="store_true", help="Keep the key only until Journeyman exits")
    use = action("use", "Set the model of new sessions, or of one session.")
    use.add_argument("model", metavar="MODEL", help="The model, as PROVIDER/MODEL")
    use.add_argument("--session", metavar="SESSION", default="", help="Change the model of this session instead")
    use.add_argument("--effort", choices=EFFORTS, default="", help="With --session: the reasoning effort of the model")
    proxy = action("proxy", "Send requests through a proxy, except those to this computer.")
    proxy.add_argument("url", metavar="URL", help="The address of the proxy, or `none`")
