-- oldest_to_keep: the key of the oldest letter when only the newest are kept.
-- ?1 how many are kept
SELECT key FROM letter ORDER BY key DESC LIMIT 1 OFFSET ?1 - 1
