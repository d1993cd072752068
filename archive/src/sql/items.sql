-- items: the first items of an operation.
-- ?1 operation  ?2 at most how many
SELECT task, outcome, detail FROM item WHERE operation = ?1 ORDER BY place LIMIT ?2
