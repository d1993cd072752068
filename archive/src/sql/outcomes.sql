-- outcomes: the number of items of an operation per result; NULL is not sent yet.
-- ?1 operation
SELECT outcome, count(*) FROM item WHERE operation = ?1 GROUP BY outcome
