"""Questions of the agent on the command line: how they are printed, and how a typed answer is understood."""

from app.commands.invocation import Invocation
from app.commands.permission_requests import escape_lines
from core.domain.question import Answer, Question


def parse_answer(question: Question, text: str) -> Answer:
    """Parse an answer: the option with this label or number, or else the text itself."""
    labels = [option.label for option in question.options]
    numbers = {str(number): label for number, label in enumerate(labels, 1)}
    return Answer(option=numbers[text]) if text in numbers and text not in labels else Answer(text=text)


def print_question(context: Invocation, question: Question) -> None:
    """Print a question, and the command that answers it."""
    out = context.out
    out.write(f"? {escape_lines(question.text)}")
    if question.reason:
        out.write(f"  {escape_lines(question.reason)}")
    for number, sub_question in enumerate(question.sub_questions, 1):
        mark = " (choose any number)" if sub_question.multi_select else ""
        out.write(f"  Question {number}: {escape_lines(sub_question.text)}{mark}")
        for option in sub_question.options:
            out.write(f"     {escape_lines(_option_text(option.label, option.description))}")
    for position, option in enumerate(question.options, 1):
        mark = " (recommended)" if option.recommended else ""
        text = _option_text(f"{option.label}{mark}", option.description)
        out.write(f"  {position}  {escape_lines(text)}")
    choice = "--option N" if question.options else "TEXT"
    lines = ", one line per question" if len(question.sub_questions) > 1 else ""
    out.write(f"Answer with: journeyman answer {question.id} {choice}{lines}")


def _option_text(label: str, description: str) -> str:
    return f"{label}: {description}" if description else label
