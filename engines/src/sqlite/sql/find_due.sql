-- find_due: from when on a chore has something to do in a queue, as noted.
-- ?1 chore  ?2 queue
SELECT at FROM due WHERE chore = ?1 AND queue = ?2
