//! The schema's versions, and the mark of a store's file.

use jobbers_sqlite_file::Schema;

/// The schema of a store; its mark is "jobb".
pub(crate) const SCHEMA: Schema = Schema {
    application_id: 0x6a6f_6262,
    migrations: &[
        include_str!("../sql/migrations/0001_tasks.sql"),
        include_str!("../sql/migrations/0002_role_order.sql"),
        include_str!("../sql/migrations/0003_dead_letters.sql"),
        include_str!("../sql/migrations/0004_rate_limits.sql"),
        include_str!("../sql/migrations/0005_error_kinds.sql"),
        include_str!("../sql/migrations/0006_workers.sql"),
        include_str!("../sql/migrations/0007_unique_keys.sql"),
        include_str!("../sql/migrations/0008_submit_rates.sql"),
        include_str!("../sql/migrations/0009_spans.sql"),
        include_str!("../sql/migrations/0010_route_ranges.sql"),
        include_str!("../sql/migrations/0011_gates.sql"),
        include_str!("../sql/migrations/0012_queue_bytes.sql"),
        include_str!("../sql/migrations/0013_due.sql"),
        include_str!("../sql/migrations/0014_suspicion.sql"),
        include_str!("../sql/migrations/0015_tombstones.sql"),
        include_str!("../sql/migrations/0016_created_queues.sql"),
        include_str!("../sql/migrations/0017_unknown_tasks.sql"),
        include_str!("../sql/migrations/0018_schedules.sql"),
        include_str!("../sql/migrations/0019_dependencies.sql"),
        include_str!("../sql/migrations/0020_boards.sql"),
        include_str!("../sql/migrations/0021_aborted_by.sql"),
        include_str!("../sql/migrations/0022_workflows.sql"),
        include_str!("../sql/migrations/0023_deleted_ends.sql"),
        include_str!("../sql/migrations/0024_parents.sql"),
        include_str!("../sql/migrations/0025_signals.sql"),
        include_str!("../sql/migrations/0026_kept_signals.sql"),
        include_str!("../sql/migrations/0027_labels.sql"),
        include_str!("../sql/migrations/0028_metadata.sql"),
        include_str!("../sql/migrations/0029_second_ends.sql"),
        include_str!("../sql/migrations/0030_losses.sql"),
        include_str!("../sql/migrations/0031_edges_in_pieces.sql"),
        include_str!("../sql/migrations/0032_spontaneous.sql"),
        include_str!("../sql/migrations/0033_access_keys.sql"),
        include_str!("../sql/migrations/0034_sessions.sql"),
    ],
};
