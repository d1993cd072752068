-- take_items: assigns the letters of an operation's items to it.
-- ?1 operation
UPDATE letter SET state = 'resubmitting', operation = ?1
WHERE key IN (SELECT letter FROM item WHERE operation = ?1 AND outcome IS NULL)
