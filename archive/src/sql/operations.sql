-- insert_operation: begins an operation.
-- ?1 id  ?2 the client's key, or NULL  ?3 digest of its request  ?4 request  ?5 now
INSERT INTO operation (id, key, digest, request, created_at) VALUES (?1, ?2, ?3, ?4, ?5)

-- insert_item: adds a task to an operation.
-- ?1 operation  ?2 place  ?3 task  ?4 letter, or NULL  ?5 its revision, or NULL  ?6 outcome, or NULL when it is to be sent
-- ?7 detail
INSERT INTO item (operation, place, task, letter, revision, outcome, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- find_operation: one operation.
-- ?1 id
SELECT id, request, created_at, finished_at, cancelled_at FROM operation WHERE id = ?1

-- find_by_key: the operation that a client's key began.
-- ?1 key
SELECT id, digest FROM operation WHERE key = ?1

-- operations: operations, the latest first.
-- ?1 continue before this id  ?2 whether they are finished, or NULL for both  ?3 whether they were cancelled, or NULL for
-- both  ?4 limit
SELECT id, request, created_at, finished_at, cancelled_at
FROM operation
WHERE id < ?1
  AND (?2 IS NULL OR (finished_at IS NOT NULL) = ?2)
  AND (?3 IS NULL OR (cancelled_at IS NOT NULL) = ?3)
ORDER BY id DESC
LIMIT ?4

-- latest_operation: the id of the operation that began last.
SELECT max(id) FROM operation

-- running_operations: operations that are not finished, the oldest first.
SELECT id, request, cancelled_at IS NOT NULL AS is_cancelled FROM operation WHERE finished_at IS NULL ORDER BY created_at

-- items: the first items of an operation.
-- ?1 operation  ?2 limit
SELECT task, outcome, detail FROM item WHERE operation = ?1 ORDER BY place LIMIT ?2

-- pending_items: the next items of an operation to send, with their copies.
-- ?1 operation  ?2 limit
SELECT item.place, letter.copy
FROM item JOIN letter ON letter.key = item.letter
WHERE item.operation = ?1 AND item.outcome IS NULL
ORDER BY item.place
LIMIT ?2

-- take_items: assigns the letters of an operation's items to it.
-- ?1 operation
UPDATE letter SET state = 'resubmitting', operation = ?1
WHERE key IN (SELECT letter FROM item WHERE operation = ?1 AND outcome IS NULL)

-- outcomes: the number of items of an operation per result; NULL is not sent yet.
-- ?1 operation
SELECT outcome, count(*) AS items FROM item WHERE operation = ?1 GROUP BY outcome

-- settle_item: notes the result of an item. Returns the item's letter.
-- ?1 operation  ?2 place  ?3 outcome  ?4 detail
UPDATE item SET outcome = ?3, detail = ?4 WHERE operation = ?1 AND place = ?2 RETURNING letter

-- is_cancelled: whether an operation was cancelled.
-- ?1 id
SELECT count(*) > 0 FROM operation WHERE id = ?1 AND cancelled_at IS NOT NULL

-- cancel_operation: notes that an operation was cancelled.
-- ?1 id  ?2 now
UPDATE operation SET cancelled_at = ?2 WHERE id = ?1 AND finished_at IS NULL AND cancelled_at IS NULL

-- cancel_items: cancels the items of an operation that are not sent yet.
-- ?1 operation
UPDATE item SET outcome = 'cancelled' WHERE operation = ?1 AND outcome IS NULL

-- finish_operation: marks an operation as finished.
-- ?1 id  ?2 now
UPDATE operation SET finished_at = ?2 WHERE id = ?1 AND finished_at IS NULL

-- prune_operations: forgets operations that were finished before a point in time.
-- ?1 that point
DELETE FROM operation WHERE finished_at < ?1
