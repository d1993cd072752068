-- forget_kept_signals: forgets signals that were kept for tasks in vain.
-- ?1 now
DELETE FROM kept_signal WHERE until <= ?1
