"""The checks of the fresh tasks accept other correct solutions than the scripted one, and reject near misses."""

import shutil
from pathlib import Path

import pytest

from tests.eval.task import Task, TaskResult
from tests.eval.task_run import make_folder
from tests.eval.tasks import SETS
from tests.eval.tasks.fresh import (
    ACCESS,
    ADD_PRICES,
    APP,
    BOOKINGS,
    CHANGES,
    CLEAN,
    CLIENT,
    COPIES,
    DEPLOY,
    GREET,
    HOSTS,
    INBOX,
    INVOICE,
    ISO_BOOKINGS,
    JOBS,
    MONEY,
    NOTES,
    PARTY,
    PICTURES,
    READ_PRICES,
    RUN,
    SLUG,
    SLUG_TEST,
    TEMPERATURE,
    TEMPERATURE_TEST,
    TEMPLATE,
    WORKER,
)

BY_NAME: dict[str, Task] = {task.name: task for task in SETS["fresh"]}
SLUG_DONE = "def slugify(text):\n    return '-'.join(text.lower().split())\n"
PLAIN_TEST = "from slug import slugify\n\n\ndef test_words():\n    assert slugify('A B') == 'a-b'\n"
RATINGS = "product,average\nlamp,{}\ndesk,{}\nchair,{}\n"
RUN_DONE = RUN.replace("orders.csv", "orders_2026.csv")
LOGGER = "import logging\n\nlogger = logging.getLogger(__name__)\nlogging.basicConfig(level=logging.INFO)\n"
TABLE = "Region | Revenue\n--- | ---\nwest | {}\nnorth | 1250.00\nsouth | $980\nGrand total | {}\n"
TODO_LIST = (
    "# TODO\n\n## src/app.py\n1. TODO: handle timeouts\n\n## src/db/models.py\n* Add an index on email\n\n"
    "## src/web/views.py\n- make the page size an option\n- {}\n"
)

Files = dict[str, str]


def _result(folder: Path, name: str, files: Files, reply: str) -> bool:
    """Return whether a task passes with these changes of its folder; an empty text deletes a file."""
    shutil.rmtree(folder, ignore_errors=True)
    task = BY_NAME[name]
    work = make_folder(folder, task)
    for path, text in files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text, encoding="utf-8")
        if not text:
            (work / path).unlink()
    return task.passed(TaskResult(work, reply, 0))


ACCEPTED: tuple[tuple[str, Files, str], ...] = (
    ("groceries", {"groceries.txt": "Shopping list:\n\n- rice\n- Olive oil\n- apples"}, ""),
    ("timeout", {"settings.ini": CLIENT.replace("retries = 3", "timeout=30\nretries=3")}, ""),
    ("tick", {"todo.md": PARTY.replace("[ ] Book", "[X] Book").strip()}, ""),
    ("comments", {"hosts.conf": "\ndb 10.0.0.5  # the primary\n\nweb 10.0.0.7\nmail 10.0.0.9"}, ""),
    ("oncall", {}, "According to the rota, **Priya** is; Sven takes over on Friday."),
    ("explain", {}, "It finds files in the uploads folder that are two weeks old and removes them."),
    ("palindrome", {"words.py": "def is_palindrome(t):\n    t = ''.join(t.split()).casefold()\n"
                                "    return all(a == b for a, b in zip(t, reversed(t)))\n"}, ""),
    ("shell", {"greet.sh": 'name="${1:-friend}"\necho "Hello, $name!"\n'}, ""),
    ("copy", {"march.md": TEMPLATE.replace("MONTH", "March").strip()}, ""),
    ("portuguese", {"app.json": '{"theme": "blue", "name": "Tide", "languages": ["pt", "en", "de"]}',
                    "CHANGELOG.md": CHANGES.replace("## Unreleased\n", "## Unreleased\n\n- Added `pt`")}, ""),
    ("status", {}, "| 404 | 17 |\n| 200 | 14 |\n\nSo 404 is the most frequent."),
    ("ratings", {"ratings.csv": RATINGS.format("4.7", "4.50", "3.0")}, ""),
    ("ratings", {"ratings.csv": RATINGS.format("4.666666666666667", "4.5", "3").replace(",", ", ")}, ""),
    ("servers", {"servers.ini": "[beta]\nport=8002\nhost=10.1.0.2\n[alpha]\nhost=10.1.0.1\nport=8001"}, ""),
    ("members", {"left.txt": "- Emil\n- Bruno\n"}, ""),
    ("members", {"left.txt": "Bruno, Emil"}, ""),
    ("iso", {"bookings.csv": ISO_BOOKINGS.strip()}, ""),
    ("retries", {}, "`./conf/network.yaml` sets it (`max: 6`)."),
    ("invoice", {"invoice.py": INVOICE.replace("lines[1:]", "lines"),
                 "money.py": MONEY.replace("return int(euros) * 10 + int(cents)", "return round(float(text) * 100)")},
     ""),
    ("common", {"common.py": CLEAN, **{name: "import common\n" + text.replace("clean(", "common.clean(")
                                       for name, text in COPIES.items()}}, ""),
    ("regions", {"report.md": "# Revenue\n\n" + TABLE.format("1475", "3,705.00 €")}, ""),
    ("todos", {"TODO.md": TODO_LIST.format("Escape HTML")}, ""),
    ("logging", {"jobs.py": LOGGER + JOBS.replace("print(", "logger.info(").replace(
                 "f'{len(names)} jobs done'", "'%d jobs done', len(names)"),
                 "worker.py": LOGGER + WORKER.replace("print(", "logger.info(")}, ""),
    ("slug", {"slug.py": SLUG.replace("    slug =", "    if not words:\n        return ''\n    slug ="),
              "test_slug.py": PLAIN_TEST + "\n\ndef test_empty():\n    assert slugify('') == ''\n"}, ""),
    ("slug", {"slug.py": SLUG_DONE, "test_slug.py": SLUG_TEST.replace(
              "'open-the-door')\n", "'open-the-door')\n        self.assertEqual('', slugify(''))\n")}, ""),
    ("temperature", {"temperature.py": TEMPERATURE, "test_temperature.py":
                     "from temperature import *\nassert c_to_f(0) == 32\nassert f_to_c(32) == 0\nprint('ok')\n"}, ""),
    ("pipeline", {"run.sh": RUN_DONE, "clean.py": READ_PRICES.replace("price", "amount")}, ""),
    ("pipeline", {"run.sh": "awk -F, 'NR > 1 {print $3}' data/*.csv > x.txt\npython3 total.py x.txt\n"}, ""),
    ("notes", {"NOTES.md": NOTES.replace("## Features\n\n- Export to PDF\n- Dark mode\n\n", "")
                           + "\n# Features:\n* dark mode.\n* export to PDF.\n"}, ""),
)  # fmt: skip

REJECTED: tuple[tuple[str, Files, str], ...] = (
    ("groceries", {"groceries.txt": "apples, rice, olive oil\n"}, ""),
    ("replicas", {"deploy.yaml": DEPLOY.replace("eplicas: 2", "eplicas: 5")}, ""),
    ("timeout", {"settings.ini": CLIENT.replace("timeout = 10", "timeout = 30")}, ""),
    ("timeout", {"settings.ini": CLIENT + "timeout = 30\n"}, ""),
    ("tick", {"todo.md": PARTY.replace("[ ]", "[x]")}, ""),
    ("tick", {"todo.md": PARTY.replace("- [ ] Book the hall\n", "")}, ""),
    ("comments", {"hosts.conf": "\n".join(line for line in HOSTS.splitlines() if "#" not in line)}, ""),
    ("oncall", {}, "Omar is on call on Thursday."),
    ("oncall", {}, "Monday Lena, Tuesday Omar, Wednesday Jun, Thursday Priya, Friday Sven"),
    ("explain", {}, "It cleans up the server."),
    ("palindrome", {"words.py": "def is_palindrome(text):\n    return text == text[::-1]\n"}, ""),
    ("shell", {"greet.sh": GREET + "fi\n"}, ""),
    ("copy", {"march.md": TEMPLATE.replace("MONTH", "March", 1)}, ""),
    ("copy", {name: TEMPLATE.replace("MONTH", "March") for name in ("march.md", "template.md")}, ""),
    ("portuguese", {"app.json": APP.replace('"de"]', '"de", "pt"]')}, ""),
    ("portuguese", {"app.json": APP.replace('"de"]', '"de", "pt"]'), "CHANGELOG.md": f"{CHANGES}- Portuguese\n"}, ""),
    ("status", {}, "200 comes up most often, 14 times."),
    ("status", {}, f"There are {len(ACCESS.splitlines())} requests, most of them with 404."),
    ("ratings", {"ratings.csv": RATINGS.format("4", "4", "3")}, ""),
    ("ratings", {"ratings.csv": "product,average\nchair,3\ndesk,4.5\nlamp,4.67\n"}, ""),
    ("servers", {"servers.ini": "[servers]\nalpha = 10.1.0.1:8001\nbeta = 10.1.0.2:8002\n"}, ""),
    ("holiday", {**dict.fromkeys(PICTURES, ""), "holiday-1.jpg": "harbor\n", "holiday-2.jpg": "sunset\n",
                 "holiday-3.jpg": "beach\n"}, ""),
    ("holiday", {f"holiday-{n}.jpg": text for n, text in enumerate(PICTURES.values(), 1)}, ""),
    ("members", {"left.txt": "Gus\nHana\n"}, ""),
    ("members", {"left.txt": "Bruno\nEmil\nGus\nHana\n"}, ""),
    ("effective", {"effective.json": '{"port": 8080, "log": {"level": "debug", "rotate": {"days": 1}}, '
                                     '"proxy": "none"}'}, ""),
    ("iso", {"bookings.csv": BOOKINGS.replace(".", "-")}, ""),
    ("retries", {}, "The limit is set in app/upload.py; it is 3."),
    ("invoice", {"invoice.py": INVOICE.replace("lines[1:]", "lines")}, ""),
    ("invoice", {"test_invoice.py": "print('all good')\n"}, ""),
    ("common", {"common.py": CLEAN}, ""),
    ("common", {"common.py": CLEAN, **COPIES}, ""),
    ("regions", {"report.md": TABLE.format("1475", "3075")}, ""),
    ("regions", {"report.md": TABLE.format("475", "3705")}, ""),
    ("regions", {"report.md": "north 1250, south 980, west 1475, total 3705\n"}, ""),
    ("todos", {"TODO.md": TODO_LIST.format("buy a cake")}, ""),
    ("todos", {"TODO.md": "- handle timeouts\n- add an index on email\n- make the page size an option\n"
                          "- escape HTML\n"}, ""),
    ("logging", {"jobs.py": "import logging\n" + JOBS.replace("print(", "logging.info(")}, ""),
    ("logging", {name: "import logging\n" + text.replace("print(", "logging.warning(")
                 for name, text in (("jobs.py", JOBS), ("worker.py", WORKER))}, ""),
    ("inbox", {name.replace("inbox/", "archive/"): text for name, text in INBOX.items()}, ""),
    ("inbox", {name.replace("inbox/", f"archive/{name[6:10]}/"): text for name, text in INBOX.items()}, ""),
    ("slug", {"slug.py": SLUG_DONE}, ""),
    ("slug", {"slug.py": SLUG_DONE, "test_slug.py": PLAIN_TEST + "\n\ndef test_empty():\n    slugify('')\n"}, ""),
    ("slug", {"test_slug.py": PLAIN_TEST + "\n\ndef test_empty():\n    assert slugify('') == ''\n"}, ""),
    ("temperature", {"temperature.py": TEMPERATURE, "test_temperature.py": "import temperature\nprint('ok')\n"}, ""),
    ("temperature", {"temperature.py": TEMPERATURE.replace("- 32", "+ 32"),
                     "test_temperature.py": TEMPERATURE_TEST}, ""),
    ("pipeline", {"run.sh": "echo 3 orders, 60 in total\n"}, ""),
    ("pipeline", {"run.sh": RUN_DONE, "total.py": ADD_PRICES}, ""),
    ("pipeline", {"clean.py": READ_PRICES.replace("price", "amount"),
                  "data/orders.csv": "id,customer,amount\n1,ann,10\n2,bob,20\n3,cid,30\n"}, ""),
    ("notes", {"NOTES.md": NOTES + "- Update dependencies\n"}, ""),
    ("notes", {"NOTES.md": NOTES.replace("- Dark", "- feat: Dark")}, ""),
)  # fmt: skip


@pytest.mark.parametrize(("name", "files", "reply"), ACCEPTED, ids=[name for name, _, _ in ACCEPTED])
def test_another_correct_solution_is_accepted(name: str, files: Files, reply: str, tmp_path: Path) -> None:
    assert _result(tmp_path, name, files, reply or "Done.")


@pytest.mark.parametrize(("name", "files", "reply"), REJECTED, ids=[name for name, _, _ in REJECTED])
def test_a_near_miss_is_rejected(name: str, files: Files, reply: str, tmp_path: Path) -> None:
    assert not _result(tmp_path, name, files, reply or "Done.")
