//! The second half of the list of cases.

/// The cases of all else: upkeep, queues, schedules, workflows, backups, random sequences.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_of_stores {
    ($open:ident $attributes:tt) => {
        $crate::conformance_group!($open $attributes, upkeep:
            due_tasks_are_promoted_in_the_order_they_became_due
            promotion_is_bounded
            reclaiming_is_bounded
            retention_by_age
            retention_by_count
            pruning_by_filter
            pruning_by_label
            pruning_by_size
            pruning_by_a_range_of_versions
            pruning_is_bounded_and_goes_on
            a_dry_run_deletes_nothing
            a_live_task_is_never_pruned
            pruning_live_statuses_is_refused
            a_pruned_id_can_be_used_again
            a_purge_leaves_what_runs_and_what_is_over
            a_purge_is_bounded
            nothing_is_left_of_pruned_tasks
        );
        $crate::conformance_group!($open $attributes, history:
            the_sums_over_an_hour_are_the_counts_of_what_happened
            each_slot_has_what_happened_in_its_time
            a_slot_is_begun_once_and_kept_as_long_as_it_says
            many_callers_at_the_turn_of_a_minute_lose_nothing
            times_are_counted_by_the_hour_in_which_they_end
            times_count_every_task_of_a_batch
            what_happens_counts_in_its_queue
            a_restored_task_is_accepted_and_did_not_end_here
            a_deleted_queue_has_no_history
            a_history_of_too_many_queues_is_refused
        );
        $crate::conformance_group!($open $attributes, tombstones:
            a_pruned_task_of_a_chosen_id_is_remembered
            a_remembered_id_with_another_body_is_a_conflict
            a_remembered_id_can_be_used_again_by_a_replacement
            a_generated_id_leaves_nothing
            an_id_is_forgotten_after_its_time
            expired_tombstones_are_swept_away
            a_pruned_task_made_anew_is_remembered_no_more
        );
        $crate::conformance_group!($open $attributes, graphs: random_graphs_run_to_their_end);
        $crate::conformance_group!($open $attributes, wide_sequence: random_wide_fan_outs_end_as_those_of_the_model);
        $crate::conformance_group!($open $attributes, deleting_tasks:
            a_task_that_does_not_run_is_deleted_and_leaves_nothing
            a_running_task_is_not_deleted_and_that_is_said
            what_waited_only_for_deleted_tasks_is_deleted_too
            an_end_counts_and_a_deletion_does_not
            without_a_cascade_what_waits_for_no_other_task_is_released
            a_wide_deletion_is_worked_off_by_later_claims
            a_caller_that_waits_for_a_deleted_task_is_answered
            what_was_set_aside_or_failed_is_deleted_as_well
            a_deletion_past_its_bounds_is_refused
        );
        $crate::conformance_group!($open $attributes, tries:
            expiries_give_backs_and_retries_use_up_tries
            a_task_of_one_try_runs_at_most_once
            a_lease_on_which_nothing_began_uses_up_no_try
            a_task_that_says_so_is_aborted_when_its_tries_are_used_up
            tasks_that_wait_for_a_failure_run_when_its_tries_are_used_up
            blames_do_not_end_a_task_before_its_tries_unless_it_says_so
            no_dead_letter_is_made_of_a_task_that_wants_none
            a_cancel_wins_over_the_last_try
            a_task_that_is_sent_again_from_the_start_has_its_tries_again
        );
        $crate::conformance_group!($open $attributes, expiry:
            a_task_that_is_asked_for_too_late_is_dropped_and_never_runs
            a_task_is_run_until_it_expires
            nothing_expires_that_was_leased_once
            the_time_counts_from_when_the_task_is_due
            successors_and_unique_keys_follow_the_drop
            no_copy_is_made_of_an_expired_task_that_wants_none
            a_task_that_is_sent_again_does_not_expire
            a_claim_drops_a_bounded_number_and_is_repeated_at_once
            expired_tasks_are_dropped_wherever_they_wait
            a_claim_that_drops_still_leases_what_it_may
            an_expired_task_no_longer_counts_as_waiting
            a_restored_task_expires_when_it_would_have
            an_expired_task_uses_up_no_slot_of_a_limit
            an_expiry_is_part_of_the_submission
        );
        $crate::conformance_group!($open $attributes, audit:
            an_audit_of_a_sound_store_finds_nothing
            a_repair_of_a_sound_store_changes_nothing
            an_audit_past_its_bounds_is_refused
        );
        $crate::conformance_group!($open $attributes, settings:
            a_new_store_has_a_default_queue_and_role
            a_change_of_one_queue_copies_no_other
            a_queue_is_created_replaced_and_deleted
            putting_what_is_there_changes_nothing
            a_version_grows_with_each_change
            a_queue_in_use_is_not_deleted
            a_queue_with_live_tasks_is_not_deleted
            a_deleted_queue_takes_its_finished_tasks_along
            a_role_names_known_queues_only
            a_role_is_created_replaced_and_deleted
            a_weighted_role_is_kept_as_given
            a_change_of_what_changed_meanwhile_is_refused
            of_many_who_change_one_queue_none_is_overruled
            routes_are_kept
            rules_for_ranges_of_versions_stand_beside_each_other
            a_rule_that_would_overlap_another_is_refused
            of_two_rules_put_at_once_that_overlap_one_stands
            a_config_change_is_seen_by_the_next_cycle
            workers_come_and_go
            a_worker_that_falls_silent_is_forgotten
            a_drain_is_kept_until_it_is_taken_back_or_the_worker_leaves
            a_drain_is_seen_by_the_next_cycle
            a_catalogue_is_kept_for_its_time
        );
        $crate::conformance_group!($open $attributes, audit_log:
            a_change_is_logged_and_then_its_outcome
            logged_changes_are_read_in_their_order_in_pages
            a_change_logged_twice_is_one
            an_outcome_is_noted_once_and_only_for_a_change_that_is_logged
            a_change_whose_outcome_came_late_is_not_forgotten
            as_many_changes_are_logged_as_may_wait
            a_page_of_large_changes_is_short
            many_changes_at_once_are_all_logged
            what_is_logged_past_its_bounds_is_refused
        );
        $crate::conformance_group!($open $attributes, keys:
            a_key_is_created_replaced_and_deleted
            a_key_is_read_as_it_was_written
            a_key_that_changed_meanwhile_is_not_overwritten
            a_key_that_is_not_valid_is_refused
            a_change_of_a_key_raises_the_version_and_one_of_nothing_does_not
        );
        $crate::conformance_group!($open $attributes, sessions:
            a_session_lasts_until_its_end
            a_session_that_is_ended_does_not_come_back
            of_too_many_sessions_those_that_end_first_are_forgotten
        );
        $crate::conformance_group!($open $attributes, queues:
            a_created_queue_works_with_the_default_settings
            a_queue_created_twice_is_one_queue
            created_queues_are_no_configuration
            a_creation_wakes_no_worker
            a_creation_past_its_bounds_is_refused
            a_created_queue_takes_settings_as_if_the_defaults_were_put
            a_created_queue_is_deleted_like_any_other
            a_role_and_a_rule_may_name_a_created_queue
            finished_tasks_of_a_created_queue_are_pruned_by_the_default_retention
            settings_put_on_a_queue_with_finished_tasks_hold_for_these
            queues_are_listed_page_by_page
            a_page_goes_on_after_a_queue_that_was_deleted
            a_created_queue_is_in_every_walk
        );
        $crate::conformance_group!($open $attributes, patterns:
            a_role_serves_what_its_patterns_match_and_what_is_created_later
            a_created_queue_that_a_pattern_matches_wakes_the_workers_once
            a_pattern_keeps_no_queue_from_being_deleted
            a_pattern_may_match_no_queue_and_a_name_must_exist
            a_weight_of_a_pattern_is_that_of_each_queue_at_its_place
            of_more_queues_than_a_role_serves_the_first_are_served
            no_queue_is_missed_that_is_created_while_a_role_gets_its_pattern
        );
        $crate::conformance_group!($open $attributes, deleting:
            a_queue_that_changed_meanwhile_is_not_deleted
            a_change_between_two_calls_of_a_deletion_stops_it
            of_a_change_and_a_deletion_at_once_one_is_refused
            a_role_that_changed_meanwhile_is_not_deleted
            a_role_that_workers_serve_is_deleted_by_force_only
            of_a_worker_that_comes_and_a_deletion_at_once_one_is_first
        );
        $crate::conformance_group!($open $attributes, wake:
            a_submission_wakes_a_waiting_worker
            a_worker_whose_claim_took_all_there_was_is_woken
            a_worker_with_little_room_left_keeps_no_other_asleep
            only_a_claim_that_left_nothing_says_that_there_is_no_more
            a_task_that_moves_to_its_queue_wakes_a_waiting_worker
            a_submission_between_claim_and_wait_is_not_missed
            a_worker_of_another_queue_sleeps_on
            a_cancel_wakes_the_worker_that_runs_the_task
            a_submission_to_a_paused_queue_wakes_no_worker
            a_config_change_wakes_waiting_workers
            a_promoted_task_wakes_a_waiting_worker
            a_task_that_is_rescheduled_to_now_wakes_a_waiting_worker
            a_released_task_wakes_a_waiting_worker
            a_batch_wakes_more_than_one_worker
            a_task_sent_again_wakes_a_waiting_worker
            a_wait_ends_by_itself
            a_finished_task_ends_its_awaiting
            awaiting_a_finished_task_answers_at_once
            awaiting_an_unknown_task_answers_at_once
            a_purged_task_ends_its_awaiting
            a_task_sent_again_ends_its_awaiting_when_it_ends_again
            every_task_of_a_batch_ends_its_awaiting
            awaiting_gives_up_in_time
        );
        $crate::conformance_group!($open $attributes, schedules:
            a_schedule_is_kept_as_it_was_put
            a_schedule_that_changed_meanwhile_stays
            schedules_are_listed_page_by_page
            a_schedule_past_its_bounds_is_refused
            due_schedules_come_in_their_order_and_the_next_one_is_told
            a_slot_is_fired_with_its_task
            a_slot_is_fired_once_whoever_repeats_it
            of_many_that_fire_a_slot_at_once_one_does
            a_step_for_another_revision_changes_nothing
            a_refused_task_leaves_its_schedule_as_it_was
            a_slot_may_be_noted_and_nothing_started
            overlapping_slots_are_submitted_where_that_is_allowed
            a_slot_is_skipped_while_the_latest_run_is_not_over
            one_slot_waits_for_the_end_of_the_latest_run
            the_latest_run_is_cancelled_where_that_is_asked_for
            a_refused_task_cancels_nothing
        );
        $crate::conformance_group!($open $attributes, schedules_of_workflows:
            a_schedule_of_a_workflow_is_kept_as_it_was_put
            a_slot_is_fired_with_its_workflow
            a_slot_of_a_workflow_is_fired_once_whoever_repeats_it
            a_refused_workflow_leaves_its_schedule_as_it_was
            a_slot_is_held_back_while_the_latest_workflow_is_not_over
            the_latest_workflow_is_cancelled_where_that_is_asked_for
            a_step_changes_nothing_if_the_latest_workflow_changed_meanwhile
        );
        $crate::conformance_group!($open $attributes, workflows:
            a_run_is_kept_as_it_was_put
            a_run_that_changed_meanwhile_stays
            runs_are_listed_by_age_and_state_page_by_page
            due_runs_come_in_their_order_and_the_next_one_is_told
            runs_are_counted_by_state
            a_deleted_run_is_gone_with_its_definition
            a_run_past_its_bounds_is_refused
            the_statuses_of_many_tasks_are_answered_in_their_order
            the_times_of_many_tasks_are_answered_in_their_order
            a_run_is_due_when_a_task_of_it_is_sent_again_or_replaced
        );
        $crate::conformance_group!($open $attributes, backup:
            a_restored_task_is_what_it_was
            a_restored_task_waits_for_its_signals
            a_restored_queue_keeps_its_order
            a_task_that_ran_is_ready_at_its_old_place
            a_suspect_stays_one
            edges_to_tasks_that_are_over_signal_when_they_are_linked
            ends_that_were_still_to_be_signalled_are_signalled_before_a_backup
            a_restored_task_holds_its_predecessors
            restoring_again_changes_nothing
            a_restore_cut_short_is_finished_by_the_next
            another_submission_of_an_id_is_left_alone
            a_pruned_task_that_is_remembered_is_not_restored
            a_restored_task_holds_its_unique_key
            limits_do_not_refuse_a_restore
            a_queue_that_does_not_exist_takes_nothing
            revisions_given_out_later_are_greater
            finished_tasks_are_in_the_order_of_their_ends
            a_restored_task_is_promoted_in_time
            what_no_store_holds_is_not_restored
        );
        $crate::conformance_group!($open $attributes, backup_boards:
            a_restored_board_is_what_it_was
            revisions_go_on_behind_those_of_a_restored_board
            restoring_a_board_again_changes_nothing
            a_restored_task_wakes_those_who_wait_for_its_group
            what_no_board_holds_is_not_restored
        );
        $crate::conformance_group!($open $attributes, sequence:
            random_operations_answer_as_the_model_does
        );
    };
}
