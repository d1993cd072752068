//! The law of [`Engine`](super::Engine): every promise of the trait as a case that each engine runs as a test of its own.
//!
//! A crate that has an engine writes
//!
//! ```text
//! async fn open() -> Fixture { … }
//! jobbers_common::conformance_suite!(open);
//! ```
//!
//! A verb is done when its cases pass on every engine. Facts of one engine alone stand beside that engine. [`sequence`]
//! holds the random counterpart: the same operations on an engine and on the model, every answer compared.
//!
//! Cases panic with what they expected: they are tests, and run nowhere else.
#![expect(missing_docs, reason = "the cases' names are sentences")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "cases are tests; a panic is how they fail"
)]

pub mod added_dependencies;
pub mod arrange;
pub mod audit;
pub mod backup;
pub mod backup_boards;
pub mod boards;
pub mod boards_bounds;
pub mod boards_commit;
pub mod boards_look;
pub mod boards_select;
pub mod boards_sequence;
pub mod boards_take;
pub mod boards_wait;
pub mod bytes;
pub mod cancel;
pub mod dead;
pub mod deleting;
pub mod deleting_tasks;
pub mod dependencies;
pub mod expiry;
mod fixture;
pub mod gates;
pub mod graphs;
pub mod intake;
pub mod keep;
pub mod lease;
pub mod limits;
pub mod look;
pub mod moving;
pub mod parents;
pub mod queues;
pub mod refusals;
pub mod schedules;
pub mod schedules_of_workflows;
pub mod sequence;
pub mod settle;
pub mod signals;
pub mod spans;
pub mod submit;
pub mod suspicion;
pub mod tombstones;
pub mod tries;
pub mod unique;
pub mod wake;
pub mod work;
pub mod workflows;

pub use self::fixture::*;
use super::{Outcome, SettleAnswer, Settlement};

/// One test per case of one group.
#[macro_export]
macro_rules! conformance_group {
    ($open:ident, $group:ident: $($case:ident)*) => {
        mod $group {
            $(
                #[tokio::test]
                async fn $case() {
                    $crate::engine::conformance::$group::$case(super::$open().await).await;
                }
            )*
        }
    };
}

/// Every case of the law, each as a test. `open` is an `async fn() -> Fixture`.
#[macro_export]
macro_rules! conformance_suite {
    ($open:ident) => {
        $crate::conformance_group!($open, submit:
            a_submitted_task_is_stored_as_it_was_given
            numbers_and_bytes_come_back_unchanged
            a_batch_is_answered_in_order
            a_batch_goes_in_wholly_or_not_at_all
            the_same_submission_twice_is_one_task
            the_same_submission_is_safe_to_send_at_any_later_time
            an_id_with_another_body_is_a_conflict
            skip_leaves_the_stored_task_alone
            replace_gives_a_clean_slate
            replace_moves_a_task_to_another_queue
            a_running_task_is_not_replaced
            a_finished_task_can_be_replaced
            an_unknown_queue_is_refused
            an_unknown_queue_is_refused_before_a_conflict
            an_empty_batch_is_refused
            a_batch_over_a_thousand_is_refused
            a_thousand_tasks_go_in_at_once
            a_batch_to_too_many_queues_is_refused
            an_id_twice_in_a_batch_is_refused
            a_delayed_task_is_scheduled
            a_start_in_the_past_is_now
            revisions_grow
            many_submitters_of_one_id_make_one_task
        );
        $crate::conformance_group!($open, moving:
            what_waits_moves_and_keeps_its_order
            a_moved_task_is_what_it_was
            what_runs_or_is_over_stays
            a_move_is_bounded_and_begins_with_what_is_next
            a_moved_task_can_be_cancelled_purged_replaced_and_listed
            a_move_past_its_bounds_is_refused
        );
        $crate::conformance_group!($open, unique:
            a_key_is_held_until_its_task_is_over
            however_a_task_ends_its_key_is_free
            a_batch_with_a_duplicate_is_refused_as_a_whole
            a_key_is_of_one_name_in_any_version_and_queue
            a_duplicate_is_answered_with_the_holder
            a_replacement_cancels_the_holder_that_waits
            the_last_word_goes_to_the_holder_that_has_not_started
            a_word_at_once_goes_to_the_end_of_the_queue
            a_word_for_a_task_in_its_backoff_is_a_clean_slate
            the_last_word_is_refused_by_a_holder_that_runs
            the_same_word_twice_is_said_once
            a_key_ends_with_its_time
            a_key_may_outlast_its_task
            a_task_that_is_gone_holds_nothing
            pruning_takes_no_key_from_who_has_it_now
            the_same_submission_is_itself_and_no_duplicate
            a_batch_may_meet_its_own_keys
            a_conflict_of_ids_is_settled_before_one_of_keys
            a_task_that_is_replaced_by_its_id_gives_its_key_back
            a_full_queue_takes_what_takes_the_place_of_its_own
            a_task_sent_again_takes_its_key_again
            of_two_tasks_sent_again_with_one_key_one_goes
            a_copy_keeps_its_key
            many_submitters_of_one_key_make_one_task
            a_key_past_its_bounds_is_refused
        );
        $crate::conformance_group!($open, dependencies:
            a_task_waits_for_all_its_predecessors_and_is_released_once
            tasks_of_one_batch_may_wait_for_each_other_in_any_order
            an_abort_goes_from_successor_to_successor
            each_policy_goes_by_how_the_predecessor_ended
            a_predecessor_that_is_over_is_not_waited_for
            a_pruned_predecessor_that_is_remembered_signals_by_its_end
            an_unknown_predecessor_refuses_the_whole_batch
            dependencies_that_make_no_sense_are_refused
            a_submission_sent_twice_has_its_edges_once
            a_retry_and_a_lost_lease_signal_nothing
            a_delayed_task_is_scheduled_when_its_last_predecessor_ends
            a_waiting_task_that_ends_is_waited_for_no_more
            a_purged_predecessor_counts_as_cancelled
            a_replaced_predecessor_counts_as_aborted
            a_predecessor_sent_again_revives_no_successor
            a_running_task_may_get_successors
            a_cancelled_running_predecessor_signals_when_it_has_ended
            a_released_task_wakes_a_waiting_worker
            an_aborted_task_ends_its_awaiting
            a_wide_fan_out_is_worked_off_by_the_calls_that_follow
            a_wide_abort_reaches_all
            who_a_task_waits_for_is_shown_up_to_a_bound
            a_full_queue_counts_what_waits_for_others
            a_graph_of_divisors_in_pieces_runs_in_order
        );
        $crate::conformance_group!($open, added_dependencies:
            a_ready_task_with_a_new_edge_waits_again
            a_waiting_task_waits_for_the_new_edge_too
            a_scheduled_task_keeps_its_time
            one_edge_that_can_t_be_added_refuses_all
            a_task_has_no_more_edges_than_it_may
            a_circle_is_refused_and_named
            a_long_circle_is_found_or_the_check_is_refused
            two_callers_do_not_close_a_circle_together
            a_new_edge_goes_by_its_policy
            a_task_that_is_set_aside_may_wait_and_comes_back
            a_task_sent_again_waits_for_what_is_added_alone
            an_end_that_is_still_to_be_signalled_is_not_that_of_a_new_edge
            a_task_with_a_new_edge_can_be_cancelled_replaced_and_purged
        );
        $crate::conformance_group!($open, parents:
            a_task_reads_how_its_predecessors_ended
            a_result_outlives_its_task_until_its_successor_is_over
            a_predecessor_that_was_over_is_held_too
            a_result_is_kept_for_the_last_that_holds_it
            one_predecessor_is_read_by_its_id
            a_page_of_predecessors_is_bounded
            many_predecessors_are_let_go_in_pieces
        );
        $crate::conformance_group!($open, signals:
            a_task_waits_for_its_signals_and_each_counts_once
            a_signal_that_the_task_does_not_wait_for_is_refused
            signals_and_tasks_are_waited_for_together
            a_failed_predecessor_aborts_whatever_signals_are_open
            a_signal_that_does_not_come_in_time_aborts_or_releases
            a_timeout_begins_when_the_task_waits_for_no_other_task
            a_released_task_keeps_its_time
            callers_that_send_a_signal_together_send_it_once
            a_signal_that_races_its_timeout_is_received_or_times_out
            a_signal_is_kept_for_a_task_that_is_submitted_later
            as_many_signals_are_kept_as_may_be
            many_signals_time_out_over_several_ticks
            a_task_that_is_replaced_or_purged_takes_its_signals_along
            a_task_with_signals_may_wait_for_further_tasks
            signals_beyond_their_bounds_are_refused
        );
        $crate::conformance_group!($open, work:
            a_claimed_task_is_not_claimed_twice
            a_claim_hands_over_everything
            tasks_are_claimed_first_come_first_served
            ids_do_not_decide_the_order
            higher_priority_is_claimed_first
            queues_are_asked_in_the_order_given
            a_claim_holds_to_its_limits
            a_claim_of_none_takes_none
            a_paused_queue_gives_nothing
            an_unknown_queue_gives_nothing
            a_due_task_is_claimed_without_anybody_promoting_it
            a_task_is_not_claimed_before_its_time
            an_empty_claim_says_when_the_next_task_is_due
            concurrent_claims_share_the_work
            a_claim_past_its_bounds_is_refused
            a_cycle_settles_before_it_claims
            attempts_are_counted
        );
        $crate::conformance_group!($open, settle:
            every_outcome_moves_a_task_as_the_table_says
            a_completed_task_keeps_its_result
            a_completed_task_lets_its_parameters_go
            a_retry_waits_for_its_time
            a_retry_without_delay_goes_to_the_end
            a_failed_task_keeps_its_errors_and_parameters
            an_error_keeps_its_kind
            errors_grow_over_attempts
            only_the_latest_errors_are_kept
            a_release_costs_nothing_and_keeps_its_place
            a_release_with_a_delay_waits
            a_worker_may_cancel_its_own_task
            a_settlement_with_a_wrong_fence_changes_nothing
            a_settlement_after_reclaim_is_refused
            a_settlement_after_expiry_but_before_reclaim_is_accepted
            a_settlement_repeated_is_answered_alike
            a_settlement_of_an_unknown_task_is_refused
            a_lost_lease_harms_no_neighbour
            an_old_fence_is_refused_after_a_retry
            a_poisoned_task_is_not_settled_by_its_ghost
            a_task_settled_twice_in_one_cycle_is_refused
            a_large_batch_is_settled_at_once
        );
        $crate::conformance_group!($open, spans:
            the_span_of_an_attempt_is_handed_to_the_next
            a_span_and_a_heartbeat_are_in_nobody_s_way
            a_span_outlives_its_task_s_end
            a_replacement_knows_of_no_span
            a_span_that_is_none_is_refused
        );
        $crate::conformance_group!($open, lease:
            an_extended_lease_does_not_expire
            a_lease_that_ran_out_can_be_renewed_until_it_is_reclaimed
            an_expired_lease_is_reclaimed_by_the_next_claim
            a_reclaimed_task_keeps_its_place_and_its_attempt
            a_crash_is_noted_and_is_no_failure
            a_poison_task_is_failed
            what_ends_with_its_lease_is_reported_by_who_took_that_back
            max_crashes_can_be_overridden
            an_extension_with_a_wrong_fence_changes_nothing
            heartbeats_progress_and_checkpoints_are_kept
            a_checkpoint_is_found_by_the_next_attempt
            progress_belongs_to_its_attempt
            fences_only_grow
            a_live_lease_is_not_reclaimed
            progress_out_of_bounds_is_refused_and_changes_nothing
            extending_nothing_is_fine
        );
        $crate::conformance_group!($open, suspicion:
            tasks_lost_together_are_suspects_and_none_is_blamed
            a_worker_takes_few_suspects_at_a_time
            suspects_go_first_and_fresh_tasks_run_beside_them
            a_settled_suspect_makes_room_for_the_next
            the_culprit_fails_and_its_neighbours_do_not
            long_tasks_survive_the_loss_of_their_worker
            a_fresh_task_beside_a_suspect_is_not_blamed
            an_attempt_that_ends_clears_suspicion_and_a_release_does_not
            blames_add_up_over_attempts
            a_loss_taken_back_piece_by_piece_is_one_loss
            a_lease_taken_after_a_loss_belongs_to_the_next
            a_loss_counts_the_leases_in_every_queue
            a_worker_that_lives_on_keeps_what_it_holds
            a_suspect_waits_like_any_other
            a_suspect_waits_for_its_limits_like_any_other
            a_task_sent_again_from_the_start_is_fresh
        );
        $crate::conformance_group!($open, cancel:
            a_submitted_task_is_cancelled_at_once
            a_scheduled_task_is_cancelled_at_once
            a_running_task_is_told
            a_completion_does_not_undo_a_cancel
            a_retry_does_not_undo_a_cancel
            a_crash_does_not_undo_a_cancel
            a_finished_task_stays_as_it_is
            an_unknown_task_is_said_to_be_unknown
            many_are_cancelled_at_once
            a_cancelled_task_is_not_claimed
            a_cancel_request_ends_with_its_task
        );
        $crate::conformance_group!($open, dead:
            a_task_that_fails_for_good_leaves_a_full_copy
            a_copy_has_large_parameters_too
            only_what_is_to_be_kept_is_put_on_the_outbox
            a_poison_task_is_put_on_the_outbox
            a_stalled_task_is_over
            an_unknown_task_is_dropped_when_its_queue_s_patience_ends
            patience_begins_anew_when_somebody_ran_the_task
            no_patience_drops_at_once
            a_cancel_wins_over_a_stall_and_a_drop
            the_outbox_is_read_oldest_first_and_forgotten_by_key
            a_call_for_dead_letters_past_its_bounds_is_refused
            a_copy_outlives_its_task
            a_failed_task_is_submitted_again_from_the_start
            attempts_go_on_when_that_is_wished
            a_checkpoint_is_found_by_a_task_sent_again
            every_end_but_success_can_be_undone
            a_live_task_is_not_sent_again
            an_end_that_is_not_the_expected_one_stays
            a_pruned_task_is_made_anew_from_its_copy
            a_copy_is_sent_again_once
            a_receipt_taken_away_leaves_the_copy
            a_task_is_sent_again_to_another_queue
            a_queue_that_is_gone_takes_nothing_back
            a_task_is_sent_again_with_other_parameters
            many_are_sent_again_at_once
            concurrent_resubmissions_send_a_task_once
            a_duty_is_had_by_one_at_a_time
            a_duty_of_a_silent_holder_is_free
            who_takes_a_duty_over_is_told_what_the_holder_before_said
            a_duty_is_given_back
            a_duty_past_its_bounds_is_refused
        );
        $crate::conformance_group!($open, limits:
            no_more_run_than_max_concurrent
            a_worker_that_settles_may_claim_the_slot_in_the_same_cycle
            a_slot_comes_back_when_its_lease_ends
            a_limit_that_is_lowered_takes_nothing_away
            queues_are_limited_each_for_itself
            many_claimers_at_once_do_not_exceed_max_concurrent
            the_end_of_a_task_wakes_who_waits_for_its_slot
            a_task_submitted_after_the_slot_came_free_wakes_a_worker
            a_rate_holds_and_says_when_to_come_back
            a_quiet_time_saves_up_a_burst_and_no_more
            a_slow_rate_lets_one_start_at_a_time
            a_rate_counts_every_start
            a_new_rate_holds_at_once
            the_next_due_task_and_the_rate_are_told_whichever_is_sooner
            a_ready_task_has_a_place_in_its_queue
            a_ready_task_s_place_knows_the_rate
            limits_of_none_are_refused
            a_full_queue_takes_nothing_in
            a_full_queue_answers_what_it_has
            a_full_queue_fills_no_other
            a_batch_over_the_max_length_never_goes_in
            many_submitters_at_once_do_not_exceed_max_length
            a_queue_made_again_starts_from_nothing
        );
        $crate::conformance_group!($open, refusals:
            a_refused_kind_is_left_to_others_at_its_place
            a_refusal_holds_for_its_queue_and_its_version
            what_was_set_aside_is_claimed_in_its_order
            what_is_set_aside_is_submitted_like_any_other
            what_is_set_aside_can_be_purged_and_moved
            what_every_worker_refused_is_claimed_once_one_does_not
            a_flood_of_a_refused_kind_does_not_block_what_is_known
            suspects_of_a_refused_kind_are_left_to_others
            limits_by_key_hold_for_what_was_set_aside
            a_released_task_is_handed_on_at_once
            a_refused_task_wakes_a_worker_that_takes_it
            a_worker_that_refuses_nothing_is_woken_first
            a_claim_that_refuses_too_much_is_invalid
            delays_of_give_backs_are_time_in_the_queue
        );
        $crate::conformance_group!($open, gates:
            no_more_of_a_key_run_than_its_limit
            a_task_without_a_key_has_no_limit_by_key
            a_key_without_a_limit_changes_nothing
            a_key_at_its_limit_stands_in_nobody_s_way
            what_waits_for_its_key_keeps_its_place
            however_a_task_ends_its_slot_is_free
            a_slot_comes_back_when_its_lease_ends
            a_lost_lease_that_is_extended_holds_no_slot
            a_worker_that_settles_may_claim_the_slot_in_the_same_cycle
            a_release_at_once_goes_first_again
            when_the_next_of_a_key_is_cancelled_the_one_after_it_is_next
            what_is_held_back_is_submitted_like_any_other
            what_is_held_back_can_be_purged
            what_is_held_back_moves_to_another_queue
            a_later_word_for_what_is_held_back_is_kept
            keys_are_limited_in_each_queue_for_itself
            a_task_s_own_limit_holds_for_its_name
            a_task_passes_both_its_gates
            a_rate_of_a_key_holds_and_says_when_to_come_back
            a_rate_of_a_task_lets_as_many_start_as_it_says
            the_soonest_rate_is_told
            limits_that_are_raised_lowered_or_taken_away_hold_at_once
            many_that_wait_come_free_when_the_limit_is_taken_away
            a_new_limit_counts_what_runs_already
            the_limits_of_the_queue_hold_beside_those_of_its_keys
            a_retry_waits_for_its_key_like_any_other
            many_claimers_at_once_do_not_exceed_the_limit_of_a_key
            the_end_of_a_task_wakes_who_waits_for_the_slot_of_its_key
            a_task_that_is_held_back_tells_by_what
            a_key_goes_with_its_task_wherever_it_goes
            a_queue_made_again_remembers_no_gate
            limits_by_key_and_by_task_that_make_no_sense_are_refused
        );
        $crate::conformance_group!($open, bytes:
            a_queue_takes_in_no_more_bytes_than_may_wait
            a_queue_that_limits_bytes_fills_no_other
            what_takes_the_place_of_another_counts_by_what_it_adds
            waiting_bytes_follow_every_path
            what_limits_by_key_hold_back_counts_as_waiting
            what_takes_the_place_of_a_task_held_back_counts_by_what_it_adds
            a_limit_set_on_a_queue_with_tasks_comes_to_count_them
            many_submitters_at_once_do_not_exceed_max_bytes
            a_queue_of_bytes_made_again_starts_from_nothing
        );
        $crate::conformance_group!($open, intake:
            what_is_over_the_rate_is_refused_and_told_when_to_come_back
            a_batch_goes_in_when_all_of_it_may
            a_batch_over_the_burst_never_goes_in
            only_what_is_stored_counts
            what_is_refused_for_another_reason_uses_nothing_up
            what_comes_back_is_never_turned_away
            queues_hold_to_their_own_rates
            duplicates_use_up_only_what_they_store
            many_submitters_at_once_keep_to_the_rate
            a_queue_made_again_takes_in_anew
            a_rate_of_nothing_is_refused
        );
        $crate::conformance_group!($open, look:
            an_unknown_task_is_none
            every_task_is_listed_exactly_once
            a_list_has_sections
            finished_tasks_are_listed_latest_first_over_all_queues
            filters_restrict
            labels_stay_with_their_task
            a_walk_survives_changes
            a_foreign_cursor_is_refused
            a_list_is_slim
            a_limit_out_of_bounds_is_refused
            counts_follow_every_move
            stats_know_the_oldest_ready_task
            stats_of_an_unknown_queue_are_refused
            health_names_engine_and_durability
        );
        $crate::conformance_group!($open, keep:
            due_tasks_are_promoted_in_the_order_they_became_due
            promotion_is_bounded
            reclaiming_is_bounded
            retention_by_age
            retention_by_count
            pruning_by_filter
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
        $crate::conformance_group!($open, tombstones:
            a_pruned_task_of_a_chosen_id_is_remembered
            a_remembered_id_with_another_body_is_a_conflict
            a_remembered_id_can_be_used_again_by_a_replacement
            a_generated_id_leaves_nothing
            an_id_is_forgotten_after_its_time
            expired_tombstones_are_swept_away
            a_pruned_task_made_anew_is_remembered_no_more
        );
        $crate::conformance_group!($open, graphs: random_graphs_run_to_their_end);
        $crate::conformance_group!($open, deleting_tasks:
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
        $crate::conformance_group!($open, tries:
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
        $crate::conformance_group!($open, expiry:
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
        $crate::conformance_group!($open, audit:
            an_audit_of_a_sound_store_finds_nothing
            a_repair_of_a_sound_store_changes_nothing
            an_audit_past_its_bounds_is_refused
        );
        $crate::conformance_group!($open, arrange:
            a_new_store_has_a_default_queue_and_role
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
        $crate::conformance_group!($open, queues:
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
        $crate::conformance_group!($open, deleting:
            a_queue_that_changed_meanwhile_is_not_deleted
            a_change_between_two_calls_of_a_deletion_stops_it
            of_a_change_and_a_deletion_at_once_one_is_refused
            a_role_that_changed_meanwhile_is_not_deleted
            a_role_that_workers_serve_is_deleted_by_force_only
            of_a_worker_that_comes_and_a_deletion_at_once_one_is_first
        );
        $crate::conformance_group!($open, wake:
            a_submission_wakes_a_waiting_worker
            a_worker_whose_claim_took_all_there_was_is_woken
            a_worker_with_little_room_left_keeps_no_other_asleep
            only_a_claim_that_left_nothing_says_that_there_is_no_more
            a_task_that_moves_to_its_queue_wakes_a_waiting_worker
            a_submission_between_claim_and_wait_is_not_missed
            a_worker_of_another_queue_sleeps_on
            a_cancel_wakes_the_worker_that_runs_the_task
            a_config_change_wakes_waiting_workers
            a_promoted_task_wakes_a_waiting_worker
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
        $crate::conformance_group!($open, schedules:
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
        $crate::conformance_group!($open, schedules_of_workflows:
            a_schedule_of_a_workflow_is_kept_as_it_was_put
            a_slot_is_fired_with_its_workflow
            a_slot_of_a_workflow_is_fired_once_whoever_repeats_it
            a_refused_workflow_leaves_its_schedule_as_it_was
            a_slot_is_held_back_while_the_latest_workflow_is_not_over
            the_latest_workflow_is_cancelled_where_that_is_asked_for
            a_step_changes_nothing_if_the_latest_workflow_changed_meanwhile
        );
        $crate::conformance_group!($open, workflows:
            a_run_is_kept_as_it_was_put
            a_run_that_changed_meanwhile_stays
            runs_are_listed_by_age_and_state_page_by_page
            due_runs_come_in_their_order_and_the_next_one_is_told
            runs_are_counted_by_state
            a_deleted_run_is_gone_with_its_definition
            a_run_past_its_bounds_is_refused
            the_statuses_of_many_tasks_are_answered_in_their_order
        );
        $crate::conformance_group!($open, backup:
            a_restored_task_is_what_it_was
            a_restored_task_waits_for_its_signals
            a_restored_queue_keeps_its_order
            a_task_that_ran_is_ready_at_its_old_place
            a_suspect_stays_one
            edges_to_tasks_that_are_over_signal_when_they_are_linked
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
        $crate::conformance_group!($open, backup_boards:
            a_restored_board_is_what_it_was
            revisions_go_on_behind_those_of_a_restored_board
            restoring_a_board_again_changes_nothing
            a_restored_task_wakes_those_who_wait_for_its_group
            what_no_board_holds_is_not_restored
        );
        $crate::conformance_group!($open, sequence:
            random_operations_answer_as_the_model_does
        );
    };
}
