-- take_weight: stops counting the bytes of a task. Returns them, or no row if it was not counted.
-- ?1 task
DELETE FROM weight WHERE task = ?1 RETURNING bytes
