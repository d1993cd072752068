-- settle_letter: notes the new state of a letter that was to be sent again.
-- ?1 key  ?2 state  ?3 when it was sent, or NULL
UPDATE letter
SET state = ?2, resubmitted_at = ?3, operation = iif(?2 = 'dead', NULL, operation)
WHERE key = ?1
