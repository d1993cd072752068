-- count_history: adds to a slot. Changes no row when the slot is new.
-- ?1 queue  ?2 grain  ?3 number  ?4 accepted  ?5 started  ?6 completed  ?7 failed  ?8 other  ?9 retried
UPDATE history
SET accepted = accepted + ?4, started = started + ?5, completed = completed + ?6, failed = failed + ?7, other = other + ?8,
    retried = retried + ?9
WHERE queue = ?1 AND grain = ?2 AND number = ?3

-- begin_history: begins a slot of a queue.
-- ?1 queue  ?2 grain  ?3 number  ?4 accepted  ?5 started  ?6 completed  ?7 failed  ?8 other  ?9 retried
INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- forget_history: deletes the slots of a queue that are not kept any more.
-- ?1 queue  ?2 grain  ?3 number of the earliest slot that is kept
DELETE FROM history WHERE queue = ?1 AND grain = ?2 AND number < ?3

-- count_time: adds to a bucket.
-- ?1 queue  ?2 number of the hour  ?3 what  ?4 bucket  ?5 tasks
INSERT INTO history_time VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks

-- forget_times: deletes the times of a queue that are not kept any more.
-- ?1 queue  ?2 number of the earliest hour that is kept
DELETE FROM history_time WHERE queue = ?1 AND number < ?2

-- read_history: the slots of a queue.
-- ?1 queue  ?2 grain  ?3 first number  ?4 last number
SELECT number, accepted, started, completed, failed, other, retried
FROM history WHERE queue = ?1 AND grain = ?2 AND number BETWEEN ?3 AND ?4
ORDER BY number

-- read_times: the times of a queue.
-- ?1 queue  ?2 first hour  ?3 last hour
SELECT number, what, bucket, tasks FROM history_time WHERE queue = ?1 AND number BETWEEN ?2 AND ?3

-- delete_history: deletes the slots of a queue that is deleted.
-- ?1 queue
DELETE FROM history WHERE queue = ?1

-- delete_times: the same for its times.
-- ?1 queue
DELETE FROM history_time WHERE queue = ?1
