-- set_due: a look at a queue found from when on a chore has something to do there.
-- ?1 chore  ?2 queue  ?3 time
UPDATE due SET at = ?3 WHERE chore = ?1 AND queue = ?2
