-- items: the first items of an operation.
-- ?1 operation  ?2 limit
SELECT task, outcome, detail FROM item WHERE operation = ?1 ORDER BY place LIMIT ?2
