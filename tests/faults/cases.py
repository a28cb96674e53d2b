"""Lists the fault cases and their tests: C crashes, F disk and data, K concurrency, M providers, S secrets."""

from typing import Final

SKILLS = "tests/core/skills"
STORE, ENGINE, FAULTS, E2E = "tests/core/store", "tests/core/engine", "tests/faults", "tests/e2e"
INTERRUPTED = f"{FAULTS}/test_interrupted_commands.py"
WRITES, PROGRAM, LIFE = f"{FAULTS}/test_writes.py", f"{FAULTS}/test_program.py", f"{ENGINE}/test_lifecycles.py"
OPENING, BACKUP, WIRE = (
    f"{STORE}/test_data_folder.py",
    f"{STORE}/test_backup.py",
    "tests/core/models/test_api_errors.py",
)
A_LIFE = f"{LIFE}::test_every_lifecycle_keeps_its_promises"
A_KILL = f"{E2E}/test_kill.py::test_killed_at_a_random_moment"
A_WRITE = f"{E2E}/test_kill.py::test_killed_at_a_write"
DAMAGE = f"{OPENING}::test_a_damaged_file_is_set_aside_and_readable_data_is_salvaged"

CASES: Final[dict[str, tuple[str, ...]]] = {
    "C1": (A_WRITE, f"{WRITES}::test_a_kill_at_each_write_loses_nothing"),
    "C2": (A_KILL, f"{WRITES}::test_a_kill_at_each_write_loses_nothing"),
    "C3": (A_LIFE, f"{ENGINE}/test_runs.py::test_a_call_that_may_have_run_needs_a_decision"),
    "C4": (A_LIFE, A_KILL),
    "C5": (f"{ENGINE}/test_runs.py::test_a_question_survives_a_restart", A_LIFE),
    "C6": (f"{ENGINE}/test_runs.py::test_an_answer_while_the_run_resumes_is_delivered_once", A_LIFE),
    "C7": (f"{PROGRAM}::test_c7_a_kill_while_it_asks_asks_again_with_the_same_fingerprint",),
    "C8": (f"{PROGRAM}::test_c8_a_kill_right_after_approval_runs_the_call_at_most_once",),
    "C9": (f"{PROGRAM}::test_c9_a_kill_at_each_event_around_a_compaction_can_be_resumed", A_LIFE),
    "C10": (f"{INTERRUPTED}::test_c10_a_kill_during_a_review_leaves_no_half_proposal",),
    "C11": (f"{INTERRUPTED}::test_c11_a_kill_while_saving_a_skill_leaves_the_old_or_the_new",),
    "C12": (f"{WRITES}::test_a_kill_while_copying_leaves_no_half_copy",
            f"{WRITES}::test_a_kill_while_files_are_replaced_loses_nothing"),
    "C13": (f"{WRITES}::test_a_kill_at_each_write_of_a_migration_leaves_the_old_or_the_new_version",),
    "C14": (f"{INTERRUPTED}::test_c14_a_kill_while_importing_leaves_nothing_or_all_of_it",),
    "C15": (f"{INTERRUPTED}::test_c15_a_kill_while_exporting_leaves_no_file_or_a_whole_one",),
    "C16": (f"{PROGRAM}::test_c16_c17_commands_end_with_the_program_and_a_run_can_be_killed_three_times",),
    "C17": (f"{PROGRAM}::test_c16_c17_commands_end_with_the_program_and_a_run_can_be_killed_three_times",),
    "C18": (f"{FAULTS}/test_power.py::test_a_power_cut_loses_nothing_with_full_sync",),
    "C19": (f"{E2E}/test_command_line.py::test_sigterm_stops_the_run",
            f"{OPENING}::test_a_clean_close_is_recorded_and_the_next_start_reports_nothing"),
    "C20": ("tests/ui/test_crash.py::test_c20_an_internal_error_in_the_window_is_shown_and_the_program_continues",
            f"{ENGINE}/test_runs.py::test_an_internal_error_ends_its_run_only"),
    "C21": (A_LIFE, f"{ENGINE}/test_runs.py::test_a_run_is_its_events"),
    "F1": (f"{WRITES}::test_a_full_disk_at_each_write_is_relieved",),
    "F2": (f"{WRITES}::test_a_disk_that_stays_full_is_reported_and_nothing_is_half_written",
           f"{FAULTS}/test_full_disk.py::test_a_full_disk_is_relieved_then_reported_then_recovered"),
    "F3": (f"{WRITES}::test_a_disk_error_is_reported_and_never_acknowledged",),
    "F4": (f"{OPENING}::test_a_folder_that_cannot_be_written_can_be_viewed",
           f"{E2E}/test_command_line.py::test_a_read_only_data_folder"),
    "F5": (DAMAGE,),
    "F6": (DAMAGE,),
    "F7": (f"{OPENING}::test_a_missing_file_is_not_recreated",),
    "F8": (DAMAGE, f"{OPENING}::test_a_file_of_another_program_is_refused"),
    "F9": (DAMAGE, f"{OPENING}::test_damage_is_found_after_a_clean_close"),
    "F10": (f"{OPENING}::test_a_newer_file_is_refused_unchanged",),
    "F11": (f"{STORE}/test_golden_files.py::test_a_file_of_an_older_schema_opens_and_shows_the_same",
            "tests/app/test_former_data_folders.py::test_f11_a_data_folder_of_each_schema_version_opens_with_its_contents"),
    "F12": (f"{OPENING}::test_a_missing_log_is_reported",),
    "F13": (f"{OPENING}::test_a_garbled_log_index_does_no_harm",),
    "F14": (f"{BACKUP}::test_a_bad_newest_backup_is_skipped",),
    "F15": (f"{BACKUP}::test_seven_daily_backups_are_kept",),
    "F16": (f"{PROGRAM}::test_f16_too_few_file_handles_are_reported_and_lose_nothing",),
    "F17": (f"{PROGRAM}::test_f17_a_removed_data_folder_is_reported_and_not_recreated",
            f"{STORE}/test_journal.py::test_a_removed_file_is_not_written_to"),
    "F18": (f"{STORE}/test_journal.py::test_a_clock_that_goes_backwards_does_not_affect_the_event_log",),
    "F19": (f"{FAULTS}/test_large.py::test_f19_a_large_file_is_opened_without_being_read",
            "tests/app/test_first_paint.py::test_no_heavy_module_is_loaded_before_the_first_paint"),
    "F20": ("tests/core/workspace/test_broker.py::test_names_of_any_kind",),
    "K1": (f"{E2E}/test_window.py::test_a_second_start_raises_the_first_window",
           f"{E2E}/test_command_line_shared.py::test_k1_a_second_command_works_through_the_first"),
    "K2": (f"{E2E}/test_command_line_shared.py::test_k2_a_killed_owner_is_replaced",),
    "K3": (f"{STORE}/test_journal.py::test_readers_meet_no_lock_while_a_thousand_events_are_written",),
    "K4": ("tests/core/workspace/test_process.py::test_a_stop_at_any_moment_leaves_no_process",
           f"{ENGINE}/test_runs.py::test_a_stop_is_recorded_in_every_state"),
    "K5": (f"{ENGINE}/test_runs.py::test_an_answer_counts_once",),
    "K6": (f"{PROGRAM}::test_k6_an_answer_to_a_stopped_run_is_no_longer_needed",),
    "K7": ("tests/core/tools/test_edit.py::test_a_file_changed_since_it_was_read_is_not_edited",),
    "K8": (f"{SKILLS}/test_library.py::test_K8_concurrent_saves_of_two_editors_and_an_agent_overwrite_nothing",
           f"{ENGINE}/test_skills.py::test_K8_an_agent_and_two_editors_at_once_overwrite_nothing",
           "tests/ui/skills/test_page.py::test_k8_two_editors_and_an_agent_at_once_overwrite_nothing"),
    "K9": (f"{PROGRAM}::test_k9_a_session_that_is_deleted_while_it_runs_is_stopped_first",),
    "K10": (f"{ENGINE}/test_runs.py::test_each_of_a_hundred_calls_has_a_result",),
    "K11": (f"{PROGRAM}::test_k11_a_run_survives_a_suspended_machine",),
    "M1-M28": (WIRE,),
    "S7": ("tests/core/domain/test_redact.py::test_each_kind_of_secret_is_found_and_the_rest_is_kept",),
}  # fmt: skip
