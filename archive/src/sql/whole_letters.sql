-- whole_letters: the next letters in the order of arrival, whole, and whether each is the latest of its task.
-- ?1 continue after this key  ?2 limit
SELECT key, state, resubmitted_at, operation,
       NOT EXISTS (SELECT 1 FROM letter AS later WHERE later.id = letter.id AND later.revision > letter.revision),
       copy
FROM letter
WHERE key > ?1
ORDER BY key
LIMIT ?2
