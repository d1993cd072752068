-- take_matching: adds the letters that match to an operation, the oldest first.
-- :operation  :limit; and those of matching.sql
INSERT INTO item (operation, place, task, letter, revision)
SELECT :operation, row_number() OVER (ORDER BY key) - 1, id, key, revision
FROM letter
WHERE state = 'dead' AND MATCHING
ORDER BY key
LIMIT :limit
