-- read_meta: the counters. Every transaction reads them first.
SELECT revision, config_version, clock, commits FROM meta

-- write_meta: the counters. Every transaction that changed something writes them last.
-- ?1 revision  ?2 config_version  ?3 clock  ?4 commits
UPDATE meta SET revision = ?1, config_version = ?2, clock = ?3, commits = ?4

-- note_due: a chore has something to do in a queue from a time on; unless it is known to have earlier.
-- ?1 chore  ?2 queue  ?3 time
INSERT INTO due (chore, queue, at) VALUES (?1, ?2, ?3)
ON CONFLICT (chore, queue) DO UPDATE SET at = excluded.at WHERE excluded.at < due.at

-- find_due: from when on a chore has something to do in a queue, as noted.
-- ?1 chore  ?2 queue
SELECT at FROM due WHERE chore = ?1 AND queue = ?2

-- set_due: a look at a queue found from when on a chore has something to do there.
-- ?1 chore  ?2 queue  ?3 time
UPDATE due SET at = ?3 WHERE chore = ?1 AND queue = ?2

-- due_queues: the queues that a chore has something to do in by a time, the longest due first.
-- ?1 chore  ?2 time  ?3 limit
SELECT queue FROM due WHERE chore = ?1 AND at <= ?2 ORDER BY at, queue LIMIT ?3

-- forget_due: removes a queue from the list of a chore, because nothing is or will be due there.
-- ?1 chore  ?2 queue
DELETE FROM due WHERE chore = ?1 AND queue = ?2

-- delete_due: deletes the noted work of all chores in a queue that is deleted.
-- ?1 queue
DELETE FROM due WHERE chore IN (0, 1, 2) AND queue = ?1

-- put_duty: gives a duty to a holder.
-- ?1 name  ?2 holder  ?3 note  ?4 term  ?5 expires_at
INSERT INTO duty (name, holder, note, term, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, note = excluded.note, term = excluded.term, expires_at = excluded.expires_at

-- find_duty: who has, or had last, a duty.
-- ?1 name
SELECT holder, note, term, expires_at FROM duty WHERE name = ?1

-- end_duty: a holder gives its duty back. It stays known, so that terms go on growing.
-- ?1 name  ?2 holder  ?3 now
UPDATE duty SET expires_at = ?3 WHERE name = ?1 AND holder = ?2 AND expires_at > ?3
