"""Twenty pairs of like tasks: the first teaches a lesson, which the prompt of the second does not repeat.

Each Task is the second one. `lesson` is what a user would remember from the first, whose prompt is `taught_by`.
"""

from tests.eval.task import Task, calls, says

CHECKS = "print('2 failed of 9')\n"
FIRST_LOG = "".join(f"{'ERROR' if n % 6 == 1 else 'INFO'} {n}\n" for n in range(30))
SHIP = "echo shipped 7\n"


def _writes(name: str, prompt: str, path: str, text: str, lesson: str, taught_by: str, **more: object) -> Task:
    """Return a task whose result is one file with a given text."""
    solution = (calls("write", path=path, content=f"{text}\n"), says("Done."))
    return Task(
        name, prompt, lambda left: left.text(path).strip() == text, solution, lesson=lesson, taught_by=taught_by,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


LESSONS = (
    _writes("euro", "Write the price of bread, 3 euros, into price.txt.", "price.txt", "3.00 EUR",
            "Prices are written with two decimals and EUR after them, such as 1.50 EUR.",
            "Write the price of milk, 2 euros, into milk.txt as 2.00 EUR: prices always have two decimals and EUR."),
    _writes("date", "Write the date of the meeting, 2026-03-05, into date.txt.", "date.txt", "05.03.2026",
            "Dates are written as DD.MM.YYYY, such as 31.12.2025.",
            "Write the date 2025-12-31 into end.txt as 31.12.2025: dates are always written like this."),
    _writes("ticket", "Write the number of ticket 12 into ticket.txt.", "ticket.txt", "#0012",
            "Ticket numbers are written with # and four digits, such as #0007.",
            "Write ticket number 7 into seven.txt as #0007: ticket numbers always have four digits."),
    _writes("team", "Write the mail address of our team into to.txt.", "to.txt", "crew@example.org",
            "The mail address of our team is crew@example.org.",
            "Our team has the mail address crew@example.org. Write it into cc.txt."),
    _writes("clock", "Write into time.txt when the shop opens: 9 in the morning.", "time.txt", "09:00",
            "Times are written with four digits and a colon, such as 17:30.",
            "Write into close.txt when the shop closes, half past five: 17:30, always with four digits."),
    _writes("city", "Write the city of our office into city.txt.", "city.txt", "Lisbon",
            "Our office is in Lisbon.", "Our office is in Lisbon. Write the country into country.txt."),
    _writes("phone", "Write the phone number 5551234 into phone.txt.", "phone.txt", "+351 5551234",
            "Phone numbers are written with +351 and a blank before them.",
            "Write the phone number 5550000 into fax.txt as +351 5550000, as always."),
    _writes("unit", "Write the weight of the parcel, 4 kilograms, into weight.txt.", "weight.txt", "4000 g",
            "Weights are written in grams, such as 2500 g.",
            "Write the weight 2.5 kilograms into box.txt as 2500 g: weights are always in grams."),
    _writes("upper", "Write the product code ab12 into code.txt.", "code.txt", "AB12",
            "Product codes are written in capital letters.",
            "Write the product code xy9 into old.txt as XY9: they always have capital letters."),
    _writes("percent", "Write the rate one quarter into rate.txt.", "rate.txt", "25%",
            "Rates are written in percent, such as 50%.", "Write the rate one half into half.txt as 50%."),
    Task("place", "Create a note with the text `Buy milk` named milk.txt.",
         lambda left: left.text("notes/milk.txt").strip() == "Buy milk",
         (calls("write", path="notes/milk.txt", content="Buy milk\n"), says("Done.")),
         lesson="Notes are created in the folder notes.",
         taught_by="Create the note notes/tea.txt with the text `Buy tea`: notes belong into the folder notes."),
    Task("header", "Create hello.py that prints hi.",
         lambda left: left.text("hello.py").startswith("# (c) Example Ltd") and left.output("hello.py") == "hi",
         (calls("write", path="hello.py", content="# (c) Example Ltd\nprint('hi')\n"), says("Done.")),
         lesson="Every Python file begins with the line: # (c) Example Ltd",
         taught_by="Create bye.py that prints bye. Its first line has to be `# (c) Example Ltd`, as in all files."),
    Task("checks", "Run the tests and write their output into result.txt.",
         lambda left: left.text("result.txt").strip() == "2 failed of 9",
         (calls("run", command="python3 tools/verify.py > result.txt"), says("Done.")), {"tools/verify.py": CHECKS},
         lesson="The tests are run with: python3 tools/verify.py",
         taught_by="Run the tests, which is done with `python3 tools/verify.py`, and tell me the result."),
    Task("logs", "How many lines of the log hold the word ERROR? Write only the number into count.txt.",
         lambda left: left.text("count.txt").strip() == "5",
         (calls("run", command="grep -c ERROR var/out/main.trace > count.txt"), says("5")),
         {"var/out/main.trace": FIRST_LOG}, lesson="The log is var/out/main.trace.",
         taught_by="Show me the last line of the log, which is var/out/main.trace."),
    Task("release", "What is the version of this project? Answer with the number.",
         lambda left: "4.2.7" in left.reply, (calls("read", path="meta/state"), says("4.2.7")),
         {"meta/state": "4.2.7\n", "README.md": "# Tool\n\nThe first version was 1.0.0.\n"},
         lesson="The version of the project is in the file meta/state.",
         taught_by="The version is in meta/state. What is it?"),
    Task("ship", "Deploy, and write what the deployment prints into out.txt.",
         lambda left: left.text("out.txt").strip() == "shipped 7",
         (calls("run", command="sh tools/ship.sh > out.txt"), says("Done.")), {"tools/ship.sh": SHIP},
         lesson="To deploy, run: sh tools/ship.sh", taught_by="Deploy with `sh tools/ship.sh`."),
    Task("backup", "Make a backup copy of data.txt.",
         lambda left: left.text("data.txt.orig") == "one\n",
         (calls("run", command="cp data.txt data.txt.orig"), says("Done.")), {"data.txt": "one\n"},
         lesson="Backup copies have the name of the file with .orig after it, such as a.txt.orig.",
         taught_by="Copy a.txt to a.txt.orig: that is how we name backup copies."),
    Task("source", "In the page, change the title from Shop to Store.",
         lambda left: left.text("page.tmpl") == "title: Store\n",
         (calls("edit", path="page.tmpl", old_string="Shop", new_string="Store"), says("Done.")),
         {"page.tmpl": "title: Shop\n", "page.html": "<title>Shop</title>\n"}, ("page.tmpl",),
         lesson="To change the page, edit page.tmpl. Never edit page.html, which is generated from it.",
         taught_by="Change the footer in page.tmpl, and never in page.html, which is generated."),
    Task("language", "Write a greeting of one word into greeting.txt.",
         lambda left: "hola" in left.text("greeting.txt").casefold(),
         (calls("write", path="greeting.txt", content="Hola\n"), says("Done.")),
         lesson="The user wants all texts in Spanish.",
         taught_by="Write goodbye into bye.txt, in Spanish, as I want all texts."),
    Task("sign", "Write the letter `Come on Monday.` into letter.txt.",
         lambda left: left.text("letter.txt").split() == ["Come", "on", "Monday.", "Yours,", "Ann"],
         (calls("write", path="letter.txt", content="Come on Monday.\nYours, Ann\n"), says("Done.")),
         lesson="Letters end with the line: Yours, Ann",
         taught_by="Write `See you.` into note.txt with `Yours, Ann` as its last line, like all my letters."),
)  # fmt: skip
