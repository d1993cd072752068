-- take_weight: counts a task no longer. Answers what it weighed, or no row when it was not counted.
-- ?1 task
DELETE FROM weight WHERE task = ?1 RETURNING bytes
