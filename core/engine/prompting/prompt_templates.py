"""The templates in `resources/prompts`, some of which users can replace with a file in their data folder."""

from importlib import resources
from pathlib import Path
from string import Template

from core.domain.problems import Problem


def fill_template(name: str, /, **values: str) -> str:
    """Return the built-in template `name` with its placeholders replaced by `values`."""
    template = (resources.files("resources") / "prompts" / f"{name}.md").read_text("utf-8")
    return Template(template).substitute(values).strip()


def fill_replaceable_template(home: Path, name: str, /, **values: str) -> str:
    """Return the user's template `name`, or the built-in one if the user has none or it is empty, filled in likewise.

    Unknown placeholders in the user's template are left as they are. Raise Problem if it cannot be read.
    """
    user_template = _read_user_template(home / "prompts" / f"{name}.md")
    if user_template:
        return Template(user_template).safe_substitute(values)
    return fill_template(name, **values)


def join_sections(*sections: str) -> str:
    """Join the sections of a prompt with blank lines, without the empty ones."""
    return "\n\n".join(section for section in sections if section)


def _read_user_template(path: Path) -> str:
    """Return the text of the file without surrounding white space; "" if there is no such file."""
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{path} cannot be read.", f"{error}.", "Fix it, or move it away.") from error
