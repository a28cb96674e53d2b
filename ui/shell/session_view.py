"""The view of one session: its tabs (steps, chart, changes, context, decisions, terminal), the request card and the
composer.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.import_events import source_program
from core.domain.question import Answer
from core.domain.sessions import ACTIVE_STATUSES, SessionRow, needs_decision
from core.domain.steps import Step
from core.store.queued_messages import QueuedMessage
from core.timeline.idle_runs import ended_idle
from core.timeline.session_activity import REQUEST_KINDS, UserRating
from ui.ask.ask_area import AskArea, Dialog, OpenRequest
from ui.base.history_scan import HistoryScan, HistorySource
from ui.changes.panel import ChangesPanel, ChangesSource
from ui.composer.panel import ComposerPanel
from ui.context.panel import ContextPanel
from ui.decisions.panel import DecisionsPanel
from ui.style.theme import Look
from ui.terminal.panel import CommandsSource, TerminalPanel
from ui.timeline.run_end_card import RunEnd, RunFileChange
from ui.timeline.run_page import CHART_TAB, STEPS_TAB, RunPage, RunPageSource
from ui.timeline.waterfall.model import RowSampleSource
from ui.timeline.waterfall.panel import WaterfallPanel
from ui.widgets.focus_order import set_tab_order, tab_stops
from ui.widgets.tab_strip import TabCount

LOW_HEIGHT: Final = 600
TABS_HEIGHT: Final = 36  # height of the tab bar in pixels, at the usual text size
CHANGES: Final = "changes"
CONTEXT: Final = "context"
DECISIONS: Final = "decisions"
TERMINAL: Final = "terminal"
SESSION_TABS: Final = {
    STEPS_TAB: "Steps",
    CHART_TAB: "Timeline",
    CHANGES: "Changes",
    CONTEXT: "Context",
    DECISIONS: "Decisions",
    TERMINAL: "Terminal",
}


class SessionRows(RunPageSource, RowSampleSource, HistorySource, ChangesSource, CommandsSource, Protocol):
    """The data source of all views of a session."""

    def queued(self, session: str, can_continue: bool) -> list[QueuedMessage]: ...

    def proposed_by(self, session: str) -> dict[str, int]: ...


class SessionView(QWidget):
    """The panels of one session. They share the selected step, and request actions through signals."""

    answered = Signal(str, Answer)
    folder_checked = Signal()
    """It is now known whether the folder of the session still exists."""
    review_requested = Signal(str)
    """The user wants to review proposals; carries their kind, `skill` or `memory`."""

    def __init__(self, look: Look, rows: SessionRows, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._rows = rows
        self.page = RunPage(look, rows)
        self.waterfall = WaterfallPanel(look, rows)
        self.changes = ChangesPanel(look, rows)
        self.context = ContextPanel(look)
        self.decisions = DecisionsPanel(look, rows)
        self.terminal = TerminalPanel(look, rows)
        self.scan = HistoryScan(rows, parent=self)
        self.requests = HistoryScan(rows, REQUEST_KINDS, self)
        self._review_row: int | None = None  # the timeline's number of rows when comments on changes were sent
        self._focus_waits_for_bar = False  # the user has gone to this session to decide, but the bar is not shown yet
        self._tabs_by_session: dict[str, str] = {}
        self.composer = ComposerPanel(look)
        self.asking = AskArea(look)
        self._row = SessionRow("")
        self._proposed: dict[str, int] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.page, 1)
        self._column.addWidget(self.asking)
        self._column.addWidget(self.composer)
        for name, panel in (
            (CHART_TAB, self.waterfall),
            (CHANGES, self.changes),
            (CONTEXT, self.context),
            (DECISIONS, self.decisions),
            (TERMINAL, self.terminal),
        ):
            self.page.add_tab(name, self.tr(SESSION_TABS[name]), panel)
        self._connect()

    def _connect(self) -> None:
        page = self.page
        page.step_opened.connect(self._open_step)
        page.tab_chosen.connect(self._fill_tab)
        page.changes_requested.connect(self.show_changes)
        page.model_change_requested.connect(self._change_model)
        page.review_requested.connect(
            lambda: self.review_requested.emit("memory" if "memory" in self._proposed else "skill")
        )
        page.set_run_end_source(self._run_end)
        self.waterfall.step_chosen.connect(self._choose_elsewhere)
        self.waterfall.run_requested.connect(self._show_neighbor_run)
        self.page.chart_row_requested.connect(self._show_row_in_chart)
        self.changes.row_requested.connect(self.show_row)
        self.changes.steps_requested.connect(lambda: self.go_to_tab(STEPS_TAB))
        self.changes.review.send_requested.connect(self._begin_follow_up)
        self.changes.bar.reply_closed.connect(self._end_follow_up)
        self.changes.bar.link_clicked.connect(self.page.link_clicked)
        self.decisions.row_requested.connect(self.show_row)
        self.terminal.row_requested.connect(self.show_row)
        self.scan.changed.connect(self._on_history_changed)
        self.requests.changed.connect(self._on_requests_changed)
        self.asking.answered.connect(self.answered)
        self.asking.postponed.connect(lambda: self._leave_question(was_permission=False))
        self.asking.focus_released.connect(self._leave_question)
        self.asking.request_shown.connect(lambda _request: self._order_focus())
        self.composer.submitted.connect(self._follow_new_run)
        self.composer.queue.focus_released.connect(self.focus_composer)
        self.composer.queue.arranged.connect(self._order_focus)

    @property
    def session(self) -> str:
        return self._row.id

    @property
    def dialog(self) -> Dialog | None:
        return self.asking.dialog

    @property
    def wide(self) -> bool:
        """Whether the current tab needs the width of the step pane too."""
        return self.page.current_tab in {CHANGES, TERMINAL}

    def stop_reading(self) -> None:
        """Stop reading the event log, which is about to be closed."""
        self.scan.stop()
        self.requests.stop()
        self.terminal.stop_reading()

    def show_session(self, row: SessionRow) -> None:
        is_other_session = row.id != self._row.id
        if is_other_session:
            self._tabs_by_session[self._row.id] = self.page.current_tab
            self._review_row = None
            self._focus_waits_for_bar = False
        self._row = row
        if row.status != "running":
            self._count_proposals()
        self.page.show_session(row)
        if is_other_session:
            self.page.show_tab(self._tabs_by_session.get(row.id, STEPS_TAB))
        self.scan.follow(row.id, row.last_seq)
        self._show_failed_request()
        if is_other_session or self.page.current_tab in {CONTEXT, TERMINAL}:
            self._fill_tab(self.page.current_tab)
        self._update_composer(row)

    def _update_composer(self, row: SessionRow) -> None:
        is_running = row.status in ACTIVE_STATUSES
        can_continue = row.status in {"running", "waiting", "paused", "interrupted"}
        disabled_reason = self._composer_disabled_reason(row)
        had_focus = self.composer.has_input_focus()
        self.composer.set_running(is_running)
        self.composer.set_disabled_reason(disabled_reason)
        if had_focus and disabled_reason and not self.page.focus_interruption():
            self.page.focus_tab()
        self.composer.set_model(row.model)
        self.composer.show_queue(self._rows.queued(row.id, can_continue), running=is_running)
        self.composer.set_mode(row.mode)

    def _composer_disabled_reason(self, row: SessionRow) -> str:
        """Return why the composer is disabled; an empty string if it is enabled."""
        if row.imported_from:
            return self.tr("Imported from {}, read-only. Fork the session to continue it.").format(
                source_program(row.imported_from)
            )
        if row.status == "interrupted":
            return self.tr("First choose what to do about the interrupted step.")
        return ""

    def mark_folder(self, folder: str, *, missing: bool) -> None:
        """Set whether a folder is missing: files in it cannot be reverted, and messages cannot be sent again.

        Ignored if `folder` is not that of the session now shown, because it was checked for an earlier session.
        """
        if folder != self._row.folder:
            return
        self.changes.mark_folder(folder, missing=missing)
        self.page.mark_folder(folder, missing=missing)
        self.folder_checked.emit()

    def show_branch(self, folder: str, name: str) -> None:
        """Show the git branch of a folder; an empty name means that it is not in a repository."""
        self.page.show_branch(folder, name)
        if folder == self._row.folder:
            self.changes.show_repository(bool(name))

    def apply(self, changes: Sequence[Step]) -> None:
        self.page.apply(changes)
        self.terminal.apply(self._row.id, changes)
        if self.page.current_tab == CHART_TAB:
            self.waterfall.apply(changes)
            if any(step.kind == "run" and step.run == self.waterfall.run + 1 for step in changes):
                self._show_run(self.waterfall.run + 1)

    def show_questions(self, requests: Sequence[OpenRequest]) -> None:
        """Show the oldest open question or permission request of this session above the composer."""
        self._fit_question()
        self.asking.show_requests(self._row.id, self._row.title, requests)

    def has_unfocused_request(self) -> bool:
        """Return whether a request of this session waits for the user while the focus is elsewhere."""
        card = self.asking.card
        focused: QWidget | None = self.window().focusWidget()
        return card is not None and (focused is None or not card.isAncestorOf(focused))

    def focus_question(self, *, navigated: bool = False) -> None:
        """Move the focus to the open request, unless the user is typing.

        If the user has navigated to the request (`navigated`), it gets the focus in any case and is shown above the
        steps. Otherwise, a permission request does not take the focus from the composer, because a single key can allow
        the call.
        """
        if navigated:
            self.page.show_tab(STEPS_TAB)
            self.asking.focus_card()
            if self.asking.card is None:
                self.focus_content()
            self.asking.highlight()
            return
        could_allow_by_mistake = self.asking.shows_permission() and self.composer.has_input_focus()
        if not self.composer.draft() and not could_allow_by_mistake:
            self.asking.focus_card()

    def restyle(self, look: Look) -> None:
        self._look = look
        for widget in (
            self.page,
            self.waterfall,
            self.changes,
            self.context,
            self.decisions,
            self.terminal,
            self.composer,
            self.asking,
        ):
            widget.restyle(look)

    def focus_content(self) -> None:
        """Focus what the user has to decide: the open request or how to continue; without these, the current tab."""
        if self.asking.card:
            self.asking.focus_card()
        elif not self.page.focus_decision():
            self.page.focus_tab()
            # The bar of a failed request is shown only once the history scan has read the error.
            self._focus_waits_for_bar = needs_decision(self._row)

    def go_to_tab(self, name: str) -> None:
        """Show a tab and focus it."""
        self.page.show_tab(name)
        self.page.focus_tab()

    def open_revert_menu(self) -> None:
        """Show the Changes tab with the menu of states to revert the files to."""
        self.go_to_tab(CHANGES)
        self.changes.open_revert_menu()

    def undo_revert(self) -> None:
        """Show a preview of undoing the last revert, or say that there is no revert to undo."""
        if self.scan.done and not self.scan.past.open_rewinds.last():
            self.changes.refused.emit(self.tr("There is no revert to undo"))
        else:
            self.changes.undo_revert_requested.emit()

    def focus_composer(self) -> None:
        """Show the steps and focus the composer or, if a step was interrupted, the bar that asks how to continue."""
        self.page.show_tab(STEPS_TAB)
        if not self.page.focus_interruption():
            self.composer.focus_input()

    def _order_focus(self) -> None:
        """Make Tab go from the page to the request card, then to the queued messages, then to the message field."""
        last_stop_of_page = tab_stops(self.page.bars[-1])[-1:]  # empty if the last bar has no Tab stop
        set_tab_order(*last_stop_of_page, *tab_stops(self.asking), *tab_stops(self.composer))

    def _leave_question(self, was_permission: bool) -> None:
        """Move the focus from the closed request to the composer, or to the current tab if that hides the composer.

        After a permission request, the focus goes to the steps as long as the run goes on: the next permission request
        does not take it from the composer, where the keys for its answer would be typed.
        """
        expects_more = was_permission and self._row.status in ACTIVE_STATUSES
        if self.page.current_tab == STEPS_TAB and not expects_more:
            self.focus_composer()
        else:
            self.page.focus_tab()

    def _follow_new_run(self) -> None:
        """Show the end of the steps, where a message appears that starts a run; a queued one is shown as a card."""
        if self._row.status not in ACTIVE_STATUSES:
            self.page.view.follow()

    # The selected step, which all tabs share

    @property
    def _chosen_row(self) -> int:
        """The selected row of this session, or the one under which the selected step is nested; -1 if there is none."""
        return self.page.selected.root_row if self.page.selected else -1

    def _choose_elsewhere(self, step: Step) -> None:
        """Select a step that the user chose in another tab. The Steps tab then notifies the rest of the window."""
        self.page.select_row(step.row)

    def _show_run(self, number: int) -> None:
        """Show a run in the chart, with the selected step if it belongs to the run."""
        self.waterfall.show_run(self._row.id, self.page.run_to_show(number))
        self.waterfall.select_row(self._chosen_row)

    def _show_neighbor_run(self, offset: int) -> None:
        number = self.waterfall.run + offset
        if 1 <= number <= self._row.runs:
            self._show_run(number)

    def _show_row_in_chart(self, row: int) -> None:
        if (number := self.page.run_of_row(row)) != self.waterfall.run:
            self._show_run(number)
        self.waterfall.reveal_row(row)

    def show_row(self, row: int, session: str = "") -> None:
        """Show and select a row in the Steps tab, and focus the steps.

        The row belongs to this session or, if `session` is not empty, to an expanded sub-agent.
        """
        self.go_to_tab(STEPS_TAB)
        self.page.select_row(row, session)

    def _fill_tab(self, name: str) -> None:
        """Update a tab when it is shown. The composer is shown only below the steps."""
        self._order_focus()
        self.composer.setVisible(name == STEPS_TAB)
        self.asking.set_bar_only(name != STEPS_TAB)
        if name == CHART_TAB:
            self._show_run(self.page.run_of_row(self._chosen_row))
        elif name == CHANGES:
            self.changes.show_past(self._row, self.scan.past, loading=not self.scan.done)
        elif name == CONTEXT:
            is_running = self._row.status in ACTIVE_STATUSES
            self.requests.follow(self._row.id, self._row.last_seq)
            self.context.show_past(self.requests.past, loading=not self.requests.done, running=is_running)
        elif name == DECISIONS:
            self.decisions.show_past(self._row.id, self.scan.past, loading=not self.scan.done)
        elif name == TERMINAL:
            self.terminal.show_session(self._row)

    def _change_model(self) -> None:
        self.focus_composer()
        self.composer.model.open_menu()

    def show_changes(self, path: str) -> None:
        """Show the changes of a file, or of all files for an empty path."""
        self.page.show_tab(CHANGES)
        self.changes.show_file(path)

    # What the agent replies to the comments on its changes

    def _begin_follow_up(self) -> None:
        self._review_row = self.page.model.count
        self.show_follow_up()

    def _end_follow_up(self) -> None:
        self._review_row = None
        self.changes.review.remove_sent()
        self.show_follow_up()

    def show_follow_up(self) -> None:
        """Show below the changes the reply of the agent to the comments, or that it is still working on them."""
        if self._review_row is None:
            self.changes.bar.show_reply("", "")
            return
        run = self.page.model.run_of_message(self._review_row)
        working = self.tr("The agent is working on your comments…")
        queued = self.tr("The agent reads your comments after this turn.")
        titles = {
            "running": working if run else queued,
            "waiting": self.tr("The agent is waiting for your answer."),
            "failed": self.tr("The run failed. See the steps."),
        }
        status = self._row.status if run in (0, self._row.runs) else "done"  # another run may have begun since
        title = titles.get(status, self.tr("Reply to your comments"))
        reply = self.page.model.latest_reply(self._review_row, run) if run else ""
        self.changes.bar.show_reply(title, reply)

    def _on_requests_changed(self) -> None:
        if self.page.current_tab == CONTEXT:
            self._fill_tab(CONTEXT)

    def _on_history_changed(self) -> None:
        """Update the tabs and run cards after the history scan has read more events."""
        self.page.show_counts(CHANGES, self._change_counts())
        decisions = self.scan.past.decisions
        self.page.show_counts(DECISIONS, [TabCount(f"{len(decisions):,}")] if decisions else [])
        self.page.set_run_end_source(self._run_end)
        self._show_failed_request()
        if self.page.current_tab in {CHANGES, DECISIONS}:
            self._fill_tab(self.page.current_tab)

    def _change_counts(self) -> list[TabCount]:
        """Return the numbers of added and removed lines; without any, the number of changed files."""
        history = self.scan.past
        lines = history.line_totals()
        counts: list[TabCount] = []
        if lines.added:
            counts.append(TabCount(f"+{lines.added}", "done"))
        if lines.removed:
            counts.append(TabCount(f"−{lines.removed}", "failed"))
        if counts:
            return counts
        changed_files = sum(not file.unchanged for file in history.changed_files())
        return [TabCount(str(changed_files))] if changed_files else []

    def _show_failed_request(self) -> None:
        """Show the error of a run that paused because a model request failed, until the run continues."""
        self.page.show_failed_request(self.scan.past.pause_error if self._row.status == "paused" else None)
        if self._focus_waits_for_bar and self.page.panel_has_focus() and self.page.focus_decision():
            self._focus_waits_for_bar = False

    def _count_proposals(self) -> None:
        """Count the open proposals of this session again.

        They are created after a run has ended, and may stay open for long.
        """
        proposed = self._rows.proposed_by(self._row.id)
        if proposed != self._proposed:
            self._proposed = proposed
            self.page.set_run_end_source(self._run_end)

    def _run_end(self, step: Step) -> RunEnd:
        """Return the data for the card at the end of a run."""
        history = self.scan.past
        files = tuple(
            RunFileChange(
                path=file.path,
                added=file.added,
                removed=file.removed,
                created=file.created and file.has_contents,
            )
            for file in history.changed_files_of_run(step.run)
        )
        is_last_run = step.run == self._row.runs
        has_failed = self._row.status == step.status == "failed"
        model = self.page.model
        return RunEnd(
            header=model.header(step.run),
            files=files,
            rating=history.ratings.get(step.run, UserRating()),
            open_proposals=sum(self._proposed.values()) if is_last_run else 0,
            error=history.errors.get(step.run),
            can_retry=is_last_run and has_failed and not self._row.imported_from,
            idle=ended_idle(model.opening(step.run)),
        )

    def _open_step(self, step: Step) -> None:
        """Open the request of a waiting row as a dialog; for any other row, show the details of the step."""
        card = self.asking.card
        if card and step.status == "waiting" and step.key == card.request_id():
            self.asking.open_dialog()
        elif step.kind != "fork":  # another handler opens the original session of a fork
            self.page.details_requested.emit()

    def _fit_question(self) -> None:
        """Limit the height of the request card, so that it neither enlarges the window nor squeezes the views above."""
        reserved_height = (
            self.page.minimumSizeHint().height()
            + self.composer.minimumSizeHint().height()
            + self._look.size(TABS_HEIGHT)  # also without tabs, because they appear with a second session
        )
        self.asking.fit(self.height(), max(1, self.height() - reserved_height))

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.page.show_minimap(self.height() >= self._look.size(LOW_HEIGHT))
        self._fit_question()
