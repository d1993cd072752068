-- pending_items: the next items of an operation to send, with their copies.
-- ?1 operation  ?2 limit
SELECT item.place, letter.copy
FROM item JOIN letter ON letter.key = item.letter
WHERE item.operation = ?1 AND item.outcome IS NULL
ORDER BY item.place
LIMIT ?2
