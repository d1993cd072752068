-- free_letters: gives back the letters that an operation has not sent.
-- ?1 operation
UPDATE letter SET state = 'dead', operation = NULL
WHERE operation = ?1 AND state = 'resubmitting'
  AND key IN (SELECT letter FROM item WHERE operation = ?1 AND outcome IS NULL)
