-- cancel_items: cancels the items of an operation that are not sent yet.
-- ?1 operation
UPDATE item SET outcome = 'cancelled' WHERE operation = ?1 AND outcome IS NULL
