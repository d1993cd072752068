-- forget_due: removes a queue from the list of a chore, because nothing is or will be due there.
-- ?1 chore  ?2 queue
DELETE FROM due WHERE chore = ?1 AND queue = ?2
