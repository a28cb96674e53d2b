"""Thirty tasks in three grades, written without knowing the prompts and rules that were tuned on the sixty.

Nothing may be tuned on them: they measure how well those prompts and rules work for other tasks. They are worded as
users word their requests: politely, tersely, carelessly, as a question, with or without the name of a file.
"""

import configparser
import csv
import re
from collections import defaultdict

from tests.eval.task import Task, TaskResult, calls, says

DEPLOY = (
    "kind: Deployment\nmetadata:\n  name: web\nspec:\n  minReplicas: 2\n  replicas: 2\n  template:\n"
    "    image: web:2.2\n"
)
CLIENT = "[server]\ntimeout = 10\nport = 80\n\n[client]\nretries = 3\n\n[cache]\nsize = 64\n"
PARTY = "# Summer party\n\n- [x] Set the date\n- [ ] Invite the band\n- [ ] Book the hall\n- [ ] Order drinks\n"
HOSTS = "# our machines\ndb 10.0.0.5  # the primary\n#old 10.0.0.6\nweb 10.0.0.7\n# end\nmail 10.0.0.9\n"
ON_CALL = {"Monday": "Lena", "Tuesday": "Omar", "Wednesday": "Jun", "Thursday": "Priya", "Friday": "Sven"}
ROTA = "day,person\n" + "".join(f"{day},{person}\n" for day, person in ON_CALL.items())
CLEANUP = "#!/bin/sh\nset -e\nfind /var/spool/uploads -type f -name '*.part' -mtime +14 -exec rm -f {} +\n"
PALINDROME = 'def is_palindrome(text):\n    text = text.lower().replace(" ", "")\n    return text == text[::-1]\n'
GREET = 'name="$1"\nif [ -z "$name" ]; then\n    name=friend\n\necho "Hello, $name!"\n'
TEMPLATE = "# Report for MONTH\n\nIncome in MONTH:\n\nWritten by:\n"

APP = '{\n  "name": "Tide",\n  "languages": ["en", "de"],\n  "theme": "blue"\n}\n'
CHANGES = "# Changelog\n\n## Unreleased\n\n- Faster start\n\n## 1.4.0\n\n- German\n"
CODES = (404,) * 17 + (200,) * 14 + (301,) * 6 + (500,) * 5
ACCESS = "".join(f'10.0.0.{n % 9} "GET /page/{n}" {CODES[n * 11 % len(CODES)]}\n' for n in range(len(CODES)))
REVIEWS = "product,stars\nchair,3\nlamp,5\ndesk,4\nlamp,4\nchair,4\ndesk,5\nlamp,5\nchair,2\n"
SERVERS = '{"alpha": {"host": "10.1.0.1", "port": 8001}, "beta": {"host": "10.1.0.2", "port": 8002}}\n'
PICTURES = {"IMG_9.jpg": "beach\n", "IMG_10.jpg": "harbor\n", "IMG_103.jpg": "sunset\n"}
MEMBERS = ("Ada", "Bruno", "Chen", "Dalia", "Emil", "Farah", "Gus", "Hana")
DEFAULTS = '{"port": 80, "log": {"level": "info", "file": "app.log", "rotate": {"days": 7, "keep": 4}}}\n'
LOCAL = '{"port": 8080, "log": {"level": "debug", "rotate": {"days": 1}}, "proxy": "none"}\n'
EFFECTIVE = {
    "port": 8080, "log": {"level": "debug", "file": "app.log", "rotate": {"days": 1, "keep": 4}}, "proxy": "none",
}  # fmt: skip
BOOKINGS = (
    "guest,arrival,departure,price\nIto,03.04.2026,05.04.2026,120.50\nWeber,28.02.2026,01.03.2026,98.10\n"
    "Silva,31.12.2025,02.01.2026,210.00\n"
)
ISO_BOOKINGS = re.sub(r"(\d\d)\.(\d\d)\.(\d{4})", r"\3-\2-\1", BOOKINGS)
LETTER = "Dear NAME,\n\nyour membership number is NUMBER.\n\nBest wishes\nThe club\n"
PEOPLE = (("Ana Lima", "204"), ("Ben Okafor", "317"), ("Mei Tan", "588"))

INVOICE_TEST = (
    "from invoice import total\n\nassert total([]) == '0.00'\nassert total([('2.50', 2)]) == '5.00'\n"
    "assert total([('1.05', 1), ('0.99', 2)]) == '3.03'\nprint('all good')\n"
)
MONEY = (
    "def to_cents(text):\n    euros, cents = text.split('.')\n    return int(euros) * 10 + int(cents)\n\n\n"
    "def to_text(cents):\n    return f'{cents // 100}.{cents % 100:02}'\n"
)
INVOICE = (
    "from money import to_cents, to_text\n\n\ndef total(lines):\n    cents = 0\n    for price, count in lines[1:]:\n"
    "        cents += to_cents(price) * count\n    return to_text(cents)\n"
)
CLEAN = "def clean(text):\n    return ' '.join(text.split()).lower()\n"
IMPORT_CLEAN = "from common import clean\n"
COPIES = {
    "users.py": "\n\ndef user(name):\n    return {'name': clean(name)}\n",
    "orders.py": "\n\ndef order(item, count):\n    return f'{count} x {clean(item)}'\n",
    "mails.py": "\n\ndef subject(text):\n    return clean(text).capitalize()\n",
}
SALES = {
    "sales/north.csv": "day,amount\n1,400\n2,350\n3,500\n",
    "sales/south.csv": "day,amount\n1,280\n2,700\n",
    "sales/west.csv": "day,amount\n1,75\n2,900\n3,250\n4,250\n",
}
REVENUE = {"north": 1250, "south": 980, "west": 1475}
SOURCES = {
    "src/app.py": "def start():\n    # TODO: handle timeouts\n    return 1\n",
    "src/db/models.py": "# TODO add an index on email\nEMAIL = 'email'\n",
    "src/db/query.py": "todo = []  # open tasks\n",
    "src/web/views.py": "PAGE = 20  # TODO: make the page size an option\n\n\ndef show():\n    # TODO: escape HTML\n"
                        "    return ''\n",
    "notes.txt": "TODO: buy a cake\n",
}  # fmt: skip
TODOS = (
    ("app.py", "handle timeouts"), ("models.py", "add an index on email"),
    ("views.py", "make the page size an option"), ("views.py", "escape html"),
)  # fmt: skip
JOBS = (
    "from worker import work\n\n\ndef run(names):\n    print('starting')\n    for name in names:\n        work(name)\n"
    "    print(f'{len(names)} jobs done')\n"
)
WORKER = "def work(name):\n    print(f'working on {name}')\n    return name\n"
INBOX = {
    "inbox/2024-11-03 rent.txt": "rent\n", "inbox/2025-01-15-lease.txt": "lease\n",
    "inbox/2025-06-30-taxes.txt": "taxes\n", "inbox/2026-02-01-menu.txt": "menu\n",
}  # fmt: skip
UNDATED = {"inbox/ideas.txt": "ideas\n", "archive/2024/2024-02-01-visa.txt": "visa\n"}
SLUG = (
    "def slugify(text):\n    words = text.lower().split()\n    slug = words[0]\n    for word in words[1:]:\n"
    "        slug += '-' + word\n    return slug\n"
)
SLUG_TEST = (
    "import unittest\n\nfrom slug import slugify\n\n\nclass SlugTest(unittest.TestCase):\n"
    "    def test_words_are_joined(self):\n        self.assertEqual(slugify('Open The Door'), 'open-the-door')\n\n\n"
    "if __name__ == '__main__':\n    unittest.main()\n"
)
EMPTY_TEST = "    def test_empty(self):\n        self.assertEqual(slugify(''), '')\n\n\nif __name__"
TEMPERATURE = "def c_to_f(c):\n    return c * 9 / 5 + 32\n\n\ndef f_to_c(f):\n    return (f - 32) * 5 / 9\n"
TEMPERATURE_TEST = (
    "from temperature import c_to_f, f_to_c\n\n\ndef test_both():\n    assert c_to_f(100) == 212\n"
    "    assert f_to_c(212) == 100\n\n\nif __name__ == '__main__':\n    test_both()\n"
)
RUN = "set -e\npython3 clean.py data/orders.csv > clean.txt\npython3 total.py clean.txt\n"
READ_PRICES = (
    "import csv\nimport sys\n\nwith open(sys.argv[1]) as file:\n    for row in csv.DictReader(file):\n"
    "        print(row['price'])\n"
)
ADD_PRICES = (
    "import sys\n\nwith open(sys.argv[1]) as file:\n    prices = [int(line) for line in file]\n"
    "print(f'{len(prices)} orders, {sum(prices)} in total')\n"
)
COMMITS = (
    "feat: export to PDF\nfix: crash on empty names\nchore: update dependencies\nfeat: dark mode\n"
    "docs: explain the settings\nfix: wrong totals in March\n"
)
NOTES = (
    "# Release notes\n\n## Features\n\n- Export to PDF\n- Dark mode\n\n## Fixes\n\n- Crash on empty names\n"
    "- Wrong totals in March\n"
)

BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
RUN_SHELL = "import subprocess, sys; sys.exit(subprocess.run(['sh', *sys.argv[1:]]).returncode)"
# Runs a test file as a script, and then the tests that pytest or unittest would find if the script has not run them.
RUN_TESTS = """
import runpy, sys, unittest
sys.argv = [FILE]
try:
    found = runpy.run_path(FILE, run_name='__main__')
except SystemExit as ended:
    sys.exit(ended.code)
for name, value in found.items():
    if isinstance(value, type) and issubclass(value, unittest.TestCase):
        tests = unittest.defaultTestLoader.loadTestsFromTestCase(value)
        if not unittest.TextTestRunner().run(tests).wasSuccessful():
            sys.exit(1)
    elif isinstance(value, type) and name.startswith('Test'):
        for method in dir(value):
            if method.startswith('test'):
                getattr(value(), method)()
    elif name.startswith('test') and callable(value):
        value()
"""
SEE_LOGGING = """
import logging
import jobs
seen = []
class Seen(logging.Handler):
    def emit(self, record):
        seen.append((record.levelname, record.getMessage()))
logging.getLogger().setLevel(logging.DEBUG)
logging.getLogger().addHandler(Seen())
jobs.run(['a', 'b'])
said = ['starting', 'working on a', 'working on b', '2 jobs done']
assert seen == [('INFO', text) for text in said], seen
"""
OTHER_ORDERS = """
import shutil, subprocess, tempfile
from pathlib import Path
with tempfile.TemporaryDirectory() as folder:
    copy = shutil.copytree('.', Path(folder, 'copy'))
    Path(copy, 'data/orders_2026.csv').write_text('id,customer,amount\\n8,gil,4\\n9,ann,7\\n')
    done = subprocess.run(['sh', 'run.sh'], cwd=copy, capture_output=True, text=True)
assert done.returncode == 0 and '2 orders, 11 in total' in done.stdout, done
"""


def _lines(text: str) -> list[str]:
    """Return the nonempty lines, without spaces at their end."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _items(text: str) -> list[str]:
    """Return the nonempty lines in lower case, without bullets, numbers and periods."""
    return [BULLET.sub("", line).strip(" .,").casefold() for line in _lines(text)]


def _ini(text: str) -> dict[str, dict[str, str]]:
    """Return the sections of an INI file, or nothing if it is invalid."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: dict(parser[name]) for name in parser.sections()}


def _says_any(reply: str, *words: str) -> bool:
    return any(word in reply.casefold() for word in words)


def _tests_catch(left: TaskResult, file: str, *faults: str) -> bool:
    """Return whether a test file passes, and fails once each of these faults is added to the code that it tests."""
    run = f"FILE = {file!r}\n{RUN_TESTS}"
    return left.runs(run) and not any(left.runs(f"{fault}\n{run}") for fault in faults)


def _shopping(left: TaskResult) -> bool:
    items = [item for item in _items(left.text("groceries.txt")) if "list" not in item]  # without a heading
    return sorted(items) == ["apples", "olive oil", "rice"]


def _on_call(left: TaskResult) -> bool:
    """Accept the right person; a reply that names everybody does not answer the question."""
    named = [person for person in ON_CALL.values() if person in left.reply]
    return "Priya" in named and len(named) <= 2


def _explained(left: TaskResult) -> bool:
    deletes = _says_any(left.reply, "delete", "deleting", "deletion", "remov", "eras")
    when = _says_any(left.reply, "14", "fourteen", "two weeks", "two-week")
    return deletes and when and _says_any(left.reply, ".part", "partial", "upload") and left.names() == {"cleanup.sh"}


def _greets(left: TaskResult) -> bool:
    named, unnamed = left.output("-c", RUN_SHELL, "greet.sh", "Mia"), left.output("-c", RUN_SHELL, "greet.sh")
    return (named, unnamed) == ("Hello, Mia!", "Hello, friend!")


def _announced(left: TaskResult) -> bool:
    app, (_, _, after) = left.json("app.json"), left.text("CHANGELOG.md").partition("## Unreleased")
    news, _, old = after.partition("## 1.4.0")
    if not isinstance(app, dict) or not isinstance(languages := app.get("languages"), list):
        return False
    kept = {**app, "languages": 0} == {"name": "Tide", "languages": 0, "theme": "blue"}
    told = re.search(r"portuguese|\bpt\b", news.casefold()) is not None
    return kept and sorted(map(str, languages)) == ["de", "en", "pt"] and told and (
        "Faster start" in news and _lines(old) == ["- German"]
    )  # fmt: skip


def _rated(left: TaskResult) -> bool:
    rows = [[cell.strip() for cell in row] for row in csv.reader(_lines(left.text("ratings.csv").casefold()))]
    if not rows or any(len(row) != 2 for row in rows):
        return False
    try:
        averages = [float(average) for _, average in rows[1:]]
    except ValueError:
        return False
    near = [abs(found - right) <= 0.05 for found, right in zip(averages, (14 / 3, 4.5, 3), strict=False)]
    return [product for product, _ in rows] == ["product", "lamp", "desk", "chair"] and all(near)


def _renamed(left: TaskResult) -> bool:
    new = {f"holiday-{number}.jpg": text for number, text in enumerate(PICTURES.values(), 1)}
    return left.names() == {*new, "cover.jpg", "notes.txt"} and all(left.text(name) == new[name] for name in new)


def _letter(name: str, number: str) -> str:
    return LETTER.replace("NAME", name).replace("NUMBER", number)


def _written(left: TaskResult) -> bool:
    letters = [left.text(f"letters/{place}.txt") for place in range(1, len(PEOPLE) + 1)]
    return [_lines(letter) for letter in letters] == [_lines(_letter(*person)) for person in PEOPLE]


def _shared(left: TaskResult) -> bool:
    return not any("def clean" in left.text(name) for name in COPIES) and left.runs(
        "import common, mails, orders, users\nassert common.clean(' A  b') == 'a b'\n"
        "assert users.user(' Ada  B') == {'name': 'ada b'}\nassert orders.order('TEA  pot', 2) == '2 x tea pot'\n"
        "assert mails.subject(' your  ORDER ') == 'Your order'"
    )


def _reported(left: TaskResult) -> bool:
    """Accept a table that has a row for each region, with its revenue in any format, and the total in its last row."""
    rows = [line for line in _lines(left.text("report.md").casefold()) if "|" in line]
    if len(rows) < 6 or not re.fullmatch(r"[\s|:-]+", rows[1]):
        return False

    def has(row: str, name: str, amount: int) -> bool:
        return re.search(rf"\b{name}\b.*(?<!\d){amount}(\.0+)?(?!\d|\.\d)", row.replace(",", "")) is not None

    regions = all(any(has(row, name, amount) for row in rows[2:-1]) for name, amount in REVENUE.items())
    return len(rows) == 6 and regions and has(rows[-1], "(?:total|sum|all)", sum(REVENUE.values()))


def _collected(left: TaskResult) -> bool:
    """Accept every comment in a line with its file, or below a line with its file."""
    found: set[tuple[str, str]] = set()
    file = ""
    for line in _lines(left.text("TODO.md").casefold()):
        file = next((name.split("/")[-1] for name in SOURCES if name.split("/")[-1] in line), file)
        found |= {(file, text) for _, text in TODOS if text in line}
    return found == set(TODOS) and not _says_any(left.text("TODO.md"), "cake", "open tasks")


def _logs(left: TaskResult) -> bool:
    return "print(" not in left.text("jobs.py") + left.text("worker.py") and left.runs(SEE_LOGGING)


def _filed(left: TaskResult) -> bool:
    new = {name.replace("inbox/", f"archive/{name[6:10]}/"): text for name, text in INBOX.items()}
    return left.names() == {*new, *UNDATED} and all(left.text(name) == text for name, text in new.items())


def _slugs(left: TaskResult) -> bool:
    good = "from slug import slugify; assert [slugify(''), slugify('A'), slugify('A b C')] == ['', 'a', 'a-b-c']"
    empty = "import slug; right = slug.slugify; slug.slugify = lambda text: right(text) or 'none'"
    joined = "import slug; right = slug.slugify; slug.slugify = lambda text: right(text).replace('-', '_')"
    return left.runs(good) and _tests_catch(left, "test_slug.py", empty, joined)


def _converts(left: TaskResult) -> bool:
    good = (
        "from temperature import c_to_f, f_to_c\nfor c, f in ((0, 32), (100, 212), (-40, -40), (37, 98.6)):\n"
        "    assert abs(c_to_f(c) - f) < 0.1 and abs(f_to_c(f) - c) < 0.1"
    )
    to_f = "import temperature; temperature.c_to_f = lambda c: c * 2 + 1"
    to_c = "import temperature; temperature.f_to_c = lambda f: f / 2 + 1"
    return left.runs(good) and _tests_catch(left, "test_temperature.py", to_f, to_c)


def _flows(left: TaskResult) -> bool:
    data = {name for name in left.names() if name.startswith("data/")}
    said = left.output("-c", RUN_SHELL, "run.sh")
    return data == {"data/orders_2026.csv"} and "3 orders, 60 in total" in said and left.runs(OTHER_ORDERS)


def _noted(left: TaskResult) -> bool:
    sections: defaultdict[str, set[str]] = defaultdict(set)
    heading = ""
    for line in _lines(left.text("NOTES.md")):
        if line.startswith("#"):
            heading = line.strip("#* :").casefold()
        elif BULLET.match(line):
            sections[heading].update(_items(line))
    return sections == {
        "features": {"export to pdf", "dark mode"}, "fixes": {"crash on empty names", "wrong totals in march"},
    }  # fmt: skip


FRESH_FIRST = (
    Task("groceries", "Could you please make me a shopping list? Apples, rice and olive oil, one per line, in "
         "groceries.txt. Thanks!", _shopping,
         (calls("write", path="groceries.txt", content="Apples\nRice\nOlive oil\n"), says("Done."))),
    Task("replicas", "bump replicas to 5 in deploy.yaml pls",
         lambda left: _lines(left.text("deploy.yaml")) == _lines(DEPLOY.replace("  replicas: 2", "  replicas: 5")),
         (calls("read", path="deploy.yaml"),
          calls("edit", path="deploy.yaml", old_string="  replicas: 2", new_string="  replicas: 5"), says("Done.")),
         {"deploy.yaml": DEPLOY}, ("deploy.yaml",)),
    Task("timeout", "The client section of settings.ini needs a timeout of 30. Nothing else should change.",
         lambda left: _ini(left.text("settings.ini")) == _ini(CLIENT.replace("= 3\n", "= 3\ntimeout = 30\n")),
         (calls("read", path="settings.ini"), calls("edit", path="settings.ini", old_string="retries = 3\n",
          new_string="retries = 3\ntimeout = 30\n"), says("Done.")), {"settings.ini": CLIENT}, ("settings.ini",)),
    Task("tick", "I've booked the hall. Tick that off in todo.md, would you?",
         lambda left: _lines(left.text("todo.md").replace("[X]", "[x]"))
         == _lines(PARTY.replace("[ ] Book", "[x] Book")),
         (calls("read", path="todo.md"), calls("edit", path="todo.md", old_string="[ ] Book", new_string="[x] Book"),
          says("Done.")), {"todo.md": PARTY}, ("todo.md",)),
    Task("comments", "get rid of the comment lines in hosts.conf, i mean the ones that start with #",
         lambda left: _lines(left.text("hosts.conf")) == [line for line in _lines(HOSTS) if line[0] != "#"],
         (calls("run", command="sed -i '/^#/d' hosts.conf"), says("Done.")), {"hosts.conf": HOSTS}, ("hosts.conf",)),
    Task("oncall", "Who's on call on Thursday?", _on_call,
         (calls("read", path="rota.csv"), says("Priya is on call on Thursday.")), {"rota.csv": ROTA}),
    Task("explain", "I found cleanup.sh on our server. What does it do, in plain words? I don't want it run or "
         "changed.", _explained,
         (calls("read", path="cleanup.sh"), says("It deletes unfinished uploads (.part) older than 14 days.")),
         {"cleanup.sh": CLEANUP}),
    Task("palindrome", "I need a Python function is_palindrome(text) in words.py. Upper and lower case and spaces "
         "shouldn't matter, so 'Never odd or even' counts as one.",
         lambda left: left.runs("from words import is_palindrome as p\nassert p('Never odd or even') and p('Anna')\n"
                                "assert not p('Hello') and not p('ab')"),
         (calls("write", path="words.py", content=PALINDROME), says("Done."))),
    Task("shell", "greet.sh dies with `Syntax error: end of file unexpected (expecting \"fi\")`. Can you repair it?",
         _greets,
         (calls("read", path="greet.sh"), calls("edit", path="greet.sh", old_string="name=friend\n",
          new_string="name=friend\nfi\n"), says("Done.")), {"greet.sh": GREET}, ("greet.sh",)),
    Task("copy", "Copy template.md to march.md and put March wherever it says MONTH, in the copy only.",
         lambda left: _lines(left.text("march.md")) == _lines(TEMPLATE.replace("MONTH", "March")),
         (calls("run", command="sed 's/MONTH/March/g' template.md > march.md"), says("Done.")),
         {"template.md": TEMPLATE}),
)  # fmt: skip

FRESH_SECOND = (
    Task("portuguese", "We support Portuguese now: add pt to the languages in app.json, and mention it under "
         "Unreleased in CHANGELOG.md.", _announced,
         (calls("read", path="app.json"), calls("read", path="CHANGELOG.md"),
          calls("edit", path="app.json", old_string='"de"]', new_string='"de", "pt"]'),
          calls("edit", path="CHANGELOG.md", old_string="- Faster start\n",
                new_string="- Faster start\n- Portuguese\n"), says("Done.")),
         {"app.json": APP, "CHANGELOG.md": CHANGES}, ("app.json", "CHANGELOG.md")),
    Task("status", "access.log: which HTTP status comes up most often, and how many times?",
         lambda left: left.says_number(404) and left.says_number(17),
         (calls("run", command="awk '{print $NF}' access.log | sort | uniq -c"), says("404, 17 times.")),
         {"access.log": ACCESS}),
    Task("ratings", "From reviews.csv, work out the average stars of each product and save them as ratings.csv with "
         "the columns product,average. Best product first, please.", _rated,
         (calls("read", path="reviews.csv"), calls("write", path="ratings.csv",
          content="product,average\nlamp,4.67\ndesk,4.5\nchair,3\n"), says("Done.")), {"reviews.csv": REVIEWS}),
    Task("servers", "I need servers.json as an INI file, servers.ini: one section per server, with its host and port.",
         lambda left: _ini(left.text("servers.ini"))
         == {"alpha": {"host": "10.1.0.1", "port": "8001"}, "beta": {"host": "10.1.0.2", "port": "8002"}},
         (calls("read", path="servers.json"), calls("write", path="servers.ini",
          content="[alpha]\nhost = 10.1.0.1\nport = 8001\n\n[beta]\nhost = 10.1.0.2\nport = 8002\n"), says("Done.")),
         {"servers.json": SERVERS}),
    Task("holiday", "rename the IMG pictures to holiday-1.jpg, holiday-2.jpg and so on, in the order of their numbers. "
         "everything else keeps its name", _renamed,
         (calls("run", command="mv IMG_9.jpg holiday-1.jpg; mv IMG_10.jpg holiday-2.jpg; mv IMG_103.jpg holiday-3.jpg"),
          says("Done.")), {**PICTURES, "cover.jpg": "cover\n", "notes.txt": "Nice trip.\n"}, tuple(PICTURES)),
    Task("members", "Who was a member in 2025 but isn't one in 2026? Put the names into left.txt.",
         lambda left: {name for name in MEMBERS if name in left.text("left.txt")} == {"Bruno", "Emil"},
         (calls("read", path="members-2025.txt"), calls("read", path="members-2026.txt"),
          calls("write", path="left.txt", content="Bruno\nEmil\n"), says("Bruno and Emil have left.")),
         {"members-2025.txt": "Ada\nBruno\nChen\nDalia\nEmil\nFarah\n",
          "members-2026.txt": "Farah\nAda\nGus\nChen\nHana\nDalia\n"}),
    Task("effective", "combine defaults.json and local.json into effective.json. where both have a value the one from "
         "local wins, inside nested objects too",
         lambda left: left.json("effective.json") == EFFECTIVE,
         (calls("read", path="defaults.json"), calls("read", path="local.json"), calls("write", path="effective.json",
          content='{"port": 8080, "log": {"level": "debug", "file": "app.log", "rotate": {"days": 1, "keep": 4}}, '
                  '"proxy": "none"}\n'), says("Done.")), {"defaults.json": DEFAULTS, "local.json": LOCAL}),
    Task("iso", "The dates in bookings.csv are day.month.year. Could you turn them into ISO dates, like 2026-03-31? "
         "The rest stays as it is.",
         lambda left: _lines(left.text("bookings.csv")) == _lines(ISO_BOOKINGS),
         (calls("read", path="bookings.csv"), calls("write", path="bookings.csv", content=ISO_BOOKINGS),
          says("Done.")), {"bookings.csv": BOOKINGS}, ("bookings.csv",)),
    Task("letters", "Please fill in letter.txt for everybody in people.csv and save the letters as letters/1.txt, "
         "letters/2.txt and so on, in the order of the rows.", _written,
         (calls("read", path="letter.txt"), calls("read", path="people.csv"),
          *(calls("write", path=f"letters/{n}.txt", content=_letter(*person)) for n, person in enumerate(PEOPLE, 1)),
          says("Done.")),
         {"letter.txt": LETTER, "people.csv": "name,number\n" + "".join(f"{a},{b}\n" for a, b in PEOPLE)}),
    Task("retries", "where is the retry limit set in this project, and what is it right now?",
         lambda left: "network.yaml" in left.reply and (left.says_number(6) or _says_any(left.reply, "six")),
         (calls("run", command="grep -rni retr ."), says("In conf/network.yaml: it is 6.")),
         {"README.md": "# Uploader\n\nAn upload that fails is retried. In version 1 the limit was 3 retries.\n",
          "conf/network.yaml": "host: example.org\nretries:\n  max: 6\n  delay: 2\n", "conf/paths.yaml": "out: out\n",
          "app/upload.py": "from app.config import load\n\nLIMIT = load('conf/network.yaml')['retries']['max']\n"}),
)  # fmt: skip

FRESH_THIRD = (
    Task("invoice", "Something is off with our invoices: `python3 test_invoice.py` fails. Please find out why and fix "
         "it. The test is right.",
         lambda left: left.runs("import test_invoice; from invoice import total\n"
                                "assert total([('10.00', 3), ('0.05', 1), ('7.20', 10)]) == '102.05'"),
         (calls("read", path="invoice.py"), calls("read", path="money.py"),
          calls("edit", path="invoice.py", old_string="lines[1:]", new_string="lines"),
          calls("edit", path="money.py", old_string="* 10 ", new_string="* 100 "),
          calls("run", command="python3 test_invoice.py"), says("Done.")),
         {"money.py": MONEY, "invoice.py": INVOICE, "test_invoice.py": INVOICE_TEST}, ("money.py", "invoice.py")),
    Task("common", "users.py, orders.py and mails.py each have their own copy of clean(). Move it to common.py and "
         "import it from there.", _shared,
         (*(calls("read", path=name) for name in COPIES), calls("write", path="common.py", content=CLEAN),
          *(calls("write", path=name, content=IMPORT_CLEAN + text) for name, text in COPIES.items()), says("Done.")),
         {name: CLEAN + text for name, text in COPIES.items()}, tuple(COPIES)),
    Task("regions", "My boss wants a report.md: a Markdown table with the revenue of each region (there's one CSV file "
         "per region in sales/, add up its amounts), and the total in the last row.", _reported,
         (calls("run", command="tail -n +1 sales/*.csv"),
          calls("write", path="report.md", content="| Region | Revenue |\n|---|---:|\n| North | 1,250 |\n"
                "| South | 980 |\n| West | 1,475 |\n| **Total** | **3,705** |\n"), says("Done.")), SALES),
    Task("todos", "collect all TODO comments of the python code in src and put them in TODO.md as a list, with the "
         "file each one is in", _collected,
         (calls("run", command="grep -rn '# TODO' src"),
          calls("write", path="TODO.md", content="- src/app.py: handle timeouts\n- src/db/models.py: add an index on "
                "email\n- src/web/views.py: make the page size an option\n- src/web/views.py: escape HTML\n"),
          says("Done.")), SOURCES),
    Task("logging", "Replace each print in jobs.py and worker.py by a call of the logging module with level info. The "
         "messages stay the same.", _logs,
         (calls("read", path="jobs.py"), calls("read", path="worker.py"),
          calls("write", path="jobs.py", content="import logging\n\n" + JOBS.replace("print(", "logging.info(")),
          calls("write", path="worker.py", content="import logging\n\n\n" + WORKER.replace("print(", "logging.info(")),
          says("Done.")), {"jobs.py": JOBS, "worker.py": WORKER}, ("jobs.py", "worker.py")),
    Task("inbox", "The inbox folder is a mess. Can you file what is in it under archive/<year>/, going by the date at "
         "the start of each name? Names stay as they are, and files without a date stay in the inbox.", _filed,
         (calls("run", command="cd inbox; for y in 2024 2025 2026; do mkdir -p ../archive/$y; mv $y-* ../archive/$y/; "
                "done"), says("Done.")), {**INBOX, **UNDATED}, tuple(INBOX)),
    Task("slug", "slugify crashes on an empty string, it should just give back an empty string. Fix that and add a "
         "test for it to test_slug.py.", _slugs,
         (calls("read", path="slug.py"), calls("read", path="test_slug.py"),
          calls("write", path="slug.py", content="def slugify(text):\n    return '-'.join(text.lower().split())\n"),
          calls("edit", path="test_slug.py", old_string="\nif __name__", new_string=EMPTY_TEST),
          calls("run", command="python3 test_slug.py"), says("Done.")),
         {"slug.py": SLUG, "test_slug.py": SLUG_TEST}, ("slug.py", "test_slug.py")),
    Task("temperature", "Write a module temperature.py with c_to_f and f_to_c, Celsius to Fahrenheit and back, plus "
         "tests for both in test_temperature.py. I only have plain Python, no pytest.", _converts,
         (calls("write", path="temperature.py", content=TEMPERATURE),
          calls("write", path="test_temperature.py", content=TEMPERATURE_TEST),
          calls("run", command="python3 test_temperature.py"), says("Done."))),
    Task("pipeline", "`sh run.sh` stopped working when somebody renamed things in data/. Get it running again, but "
         "leave data/ alone.", _flows,
         (calls("run", command="sh run.sh; ls data; head -n 2 data/*"), calls("read", path="run.sh"),
          calls("read", path="clean.py"),
          calls("edit", path="run.sh", old_string="orders.csv", new_string="orders_2026.csv"),
          calls("edit", path="clean.py", old_string="price", new_string="amount"),
          calls("run", command="sh run.sh"), says("Done.")),
         {"run.sh": RUN, "clean.py": READ_PRICES, "total.py": ADD_PRICES,
          "data/orders_2026.csv": "id,customer,amount\n1,ann,10\n2,bob,20\n3,cid,30\n"},
         ("run.sh", "clean.py", "total.py")),
    Task("notes", "Turn commits.txt into release notes, NOTES.md: a heading Features with the feat commits and a "
         "heading Fixes with the fix commits, one bullet each, without the prefix. Leave out all other commits.",
         _noted, (calls("read", path="commits.txt"), calls("write", path="NOTES.md", content=NOTES), says("Done.")),
         {"commits.txt": COMMITS}),
)  # fmt: skip

FRESH = (*FRESH_FIRST, *FRESH_SECOND, *FRESH_THIRD)
