"""The state that permission decisions depend on, derived from the events of a session."""

from dataclasses import dataclass, field

from core.domain.events import FileChanged, RunStarted, SessionEvent, SessionForked, UntrustedContentRead, UserMessage
from core.domain.permissions import PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.provenance import ContentSource
from core.domain.question import Question, QuestionAnswered, QuestionAsked
from core.domain.text import Text, normalized


@dataclass(slots=True)
class PermissionState:
    """Permission requests and untrusted sources of a session.

    Attributes:
        requests: permission requests of the current run, by ID.
        decisions: the first decision on each request, by the ID of the request.
        untrusted: untrusted sources that the session has read, in order.
        changed_files: files the agent has written in the session.
        untrusted_texts: results of calls that read untrusted files, sessions or replies of sub-agents.
        expanded_messages: messages into which a server or another agent has put text.
        sources: the untrusted source of each result that has one, by the text of the result.
        user_words: messages and answers that the user wrote, without those into which an MCP server has put text, and
            without answers that only repeat what the question says, as that may be quoted from untrusted content.
    """

    requests: dict[str, PermissionRequest] = field(default_factory=dict)
    decisions: dict[str, PermissionDecided] = field(default_factory=dict)
    untrusted: dict[str, None] = field(default_factory=dict)
    changed_files: set[str] = field(default_factory=set)
    sources: dict[Text, ContentSource] = field(default_factory=dict)
    untrusted_texts: dict[Text, None] = field(default_factory=dict)
    expanded_messages: dict[Text, None] = field(default_factory=dict)
    user_words: list[str] = field(default_factory=list)
    _untrusted_calls: set[str] = field(default_factory=set)
    _message_is_expanded: bool = False
    _questions: dict[str, Question] = field(default_factory=dict)

    def apply(self, event: SessionEvent) -> None:
        match event:
            case RunStarted(untrusted_sources=sources):
                self.requests, self.decisions = {}, {}
                if not self.untrusted.keys() >= set(sources):  # the author of the task has read untrusted content
                    self.user_words.clear()
                self.untrusted.update(dict.fromkeys(sources))
            case SessionForked(imported=True):
                self.user_words.clear()
                self._message_is_expanded = False  # the next message is the user's own
            case UserMessage(text=text):
                if self._message_is_expanded:
                    self.expanded_messages[text] = None
                else:
                    self.user_words.append(text.head)
                self._message_is_expanded = False
            case QuestionAsked(question=question):
                self._questions[question.id] = question
            case QuestionAnswered(question_id=name, answer=answer):
                asked = self._questions.pop(name, None)
                repeated = asked is not None and normalized(answer.text) in _words_of(asked)
                if answer.answered_by == "user" and not answer.expired and not repeated:
                    self.user_words.append(answer.text)
            case PermissionRequested(request=request):
                self.requests[request.id] = request
            case PermissionDecided(request_id=name):
                self.decisions.setdefault(name, event)
            case UntrustedContentRead(call_id=call, source=source, in_instructions=in_instructions):
                self.untrusted[source] = None
                self._untrusted_calls.add(call)
                self._message_is_expanded = self._message_is_expanded or not (call or in_instructions)
            case FileChanged(path=path):
                self.changed_files.add(path)
            case _:
                pass

    def note_result(self, call: str, text: Text) -> None:
        """Note the result of a call as the model sees it, if the call has read untrusted content."""
        if call in self._untrusted_calls:
            self._untrusted_calls.discard(call)
            self.untrusted_texts[text] = None


def _words_of(question: Question) -> str:
    """Return everything that a question says, options included."""
    texts = [question.text, question.reason, question.default_answer]
    for part in question.all_questions():
        texts += [part.text, *(text for option in part.options for text in (option.label, option.description))]
    return normalized("\n".join(texts))
