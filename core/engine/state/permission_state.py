"""The state that permission decisions depend on, derived from the events of a session."""

import re
from dataclasses import dataclass, field

from core.domain.events import FileChanged, RunStarted, SessionEvent, UntrustedContentRead, UserMessage
from core.domain.message_authorship import MessageAuthorship
from core.domain.permissions import PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.provenance import ContentSource
from core.domain.question import Question, QuestionAnswered, QuestionAsked
from core.domain.text import Text, normalized
from core.models.attachments import is_text


@dataclass(slots=True)
class PermissionState:
    """Permission requests and untrusted sources of a session.

    Attributes:
        requests: permission requests of the current run, by ID.
        decisions: the first decision on each request, by the ID of the request.
        authorship: which messages the user wrote.
        changed_files: files the agent has written in the session.
        sources: the untrusted source of each result that has one, by the text of the result.
        untrusted_texts: results of calls that read untrusted files, sessions or replies of sub-agents.
        attached_texts: text files that the user attached to messages.
    """

    requests: dict[str, PermissionRequest] = field(default_factory=dict)
    decisions: dict[str, PermissionDecided] = field(default_factory=dict)
    authorship: MessageAuthorship = field(default_factory=MessageAuthorship)
    changed_files: set[str] = field(default_factory=set)
    sources: dict[Text, ContentSource] = field(default_factory=dict)
    untrusted_texts: dict[Text, None] = field(default_factory=dict)
    attached_texts: dict[Text, None] = field(default_factory=dict)
    _untrusted_calls: set[str] = field(default_factory=set)
    _questions: dict[str, Question] = field(default_factory=dict)

    @property
    def untrusted(self) -> dict[str, None]:
        """The untrusted sources that the session has read, in order."""
        return self.authorship.sources

    @property
    def user_words(self) -> list[str]:
        """The texts that the user typed: messages without quotations, and answers with words not in the question.

        A question may quote untrusted content, so an answer that only repeats it does not count as the user's words.
        """
        return [_without_quotes(text) for text in self.authorship.written]

    def apply(self, event: SessionEvent) -> None:
        self.authorship.apply(event)
        match event:
            case RunStarted():
                self.requests = {}
                self.decisions = {}
            case UserMessage(attachments=attachments):
                files = (attachment for attachment in attachments if is_text(attachment))
                self.attached_texts |= dict.fromkeys(Text(size=file.size, blob=file.blob) for file in files)
            case QuestionAsked(question=question):
                self._questions[question.id] = question
            case QuestionAnswered(question_id=name, answer=answer):
                asked = self._questions.pop(name, None)
                repeated = asked is not None and normalized(answer.text) in _words_of(asked)
                if answer.answered_by == "user" and not answer.expired and not repeated:
                    self.authorship.written.append(answer.text)
            case PermissionRequested(request=request):
                self.requests[request.id] = request
            case PermissionDecided(request_id=name):
                self.decisions.setdefault(name, event)
            case UntrustedContentRead(call_id=call):
                self._untrusted_calls.add(call)
            case FileChanged(path=path):
                self.changed_files.add(path)
            case _:
                pass

    def add_result(self, call: str, text: Text, source: ContentSource | None) -> None:
        """Record the result of a call, as sent to the model. `source` is its untrusted source, or None."""
        if source and text.head.strip():  # An empty text is equal to each other empty text, such as that of a reply.
            self.sources[text] = source
        if call in self._untrusted_calls:
            self._untrusted_calls.discard(call)
            self.untrusted_texts[text] = None


def _words_of(question: Question) -> str:
    """Return all text of a question and its options, normalized to compare it with an answer."""
    texts = [question.text, question.reason, question.default_answer]
    for part in question.all_questions():
        texts += [part.text, *(text for option in part.options for text in (option.label, option.description))]
    return normalized("\n".join(texts))


def _without_quotes(text: str) -> str:
    """Return a message without lines that begin with `>`, and without code blocks and the line above each.

    The user's review comments quote a change in this form: the path of the file, then a code block. Both were written
    by an agent.
    """
    own: list[str] = []
    fence = ""
    for line in text.split("\n"):
        marker = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif marker:
            fence = marker[1]
            del own[-1:]
        elif not line.lstrip().startswith(">"):
            own.append(line)
    return "\n".join(own)
