-- outcomes: how many items of an operation came to what; NULL is not sent yet.
-- ?1 operation
SELECT outcome, count(*) FROM item WHERE operation = ?1 GROUP BY outcome
