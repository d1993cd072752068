-- cancel_items: an operation sends no more of its letters.
-- ?1 operation
UPDATE item SET outcome = 'cancelled' WHERE operation = ?1 AND outcome IS NULL
