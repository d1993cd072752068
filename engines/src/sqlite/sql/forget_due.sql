-- forget_due: a look at a queue found nothing there for a chore, now or later.
-- ?1 chore  ?2 queue
DELETE FROM due WHERE chore = ?1 AND queue = ?2
