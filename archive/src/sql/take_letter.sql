-- take_letter: assigns a letter to an operation.
-- ?1 key  ?2 operation
UPDATE letter SET state = 'resubmitting', operation = ?2 WHERE key = ?1
