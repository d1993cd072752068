-- create_queue: creates a queue without settings of its own, unless it exists.
-- ?1 name
INSERT INTO queue (name, config) VALUES (?1, '') ON CONFLICT (name) DO NOTHING

-- put_queue: puts the settings of a queue, and creates the queue unless it exists.
-- ?1 name  ?2 config
INSERT INTO queue (name, config) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET config = excluded.config

-- find_queue: the key of a queue.
-- ?1 name
SELECT key FROM queue WHERE name = ?1

-- queue_name: the name of a queue.
-- ?1 key
SELECT name FROM queue WHERE key = ?1

-- next_queue: the queue with the least key beyond this one.
-- ?1 key
SELECT key, name FROM queue WHERE key > ?1 ORDER BY key LIMIT 1

-- queues_from: the queues from a name on, in the order of names.
-- ?1 name  ?2 limit
SELECT key, name FROM queue WHERE name >= ?1 ORDER BY name LIMIT ?2

-- queues_after: the queues after a name, in the order of names, and how many tasks were ever deleted from each.
-- ?1 name  ?2 limit
SELECT key, name, removed FROM queue WHERE name > ?1 ORDER BY name LIMIT ?2

-- configured_queues: the queues with settings of their own, and these.
SELECT key, name, config FROM queue INDEXED BY queue_configured WHERE config <> ''

-- delete_queue: removes a queue without tasks, and its counts.
-- ?1 key
DELETE FROM queue WHERE key = ?1

-- rate_mark: the rate mark of a queue.
-- ?1 queue
SELECT rate_mark FROM queue WHERE key = ?1

-- set_rate_mark: notes that tasks of a queue with a rate have started.
-- ?1 queue  ?2 mark
UPDATE queue SET rate_mark = ?2 WHERE key = ?1

-- intake_mark: the mark of the rate at which a queue accepts tasks.
-- ?1 queue
SELECT intake_mark FROM queue WHERE key = ?1

-- set_intake_mark: notes that a queue with a rate of submissions has taken tasks in.
-- ?1 queue  ?2 mark
UPDATE queue SET intake_mark = ?2 WHERE key = ?1

-- insert_tally: the first count of a queue with a status.
-- ?1 queue  ?2 status  ?3 how many
INSERT INTO queue_number (queue, what, number) VALUES (?1, ?2, ?3)

-- update_tally: adds to the number of tasks of a queue with a status. Changes no row when there is none yet.
-- ?1 queue  ?2 status  ?3 how many more, may be negative
UPDATE queue_number SET number = number + ?3 WHERE queue = ?1 AND what = ?2

-- put_tally: the recounted number of tasks of a queue with a status.
-- ?1 queue, ?2 status, ?3 tasks
INSERT INTO queue_number (queue, what, number) VALUES (?1, ?2, ?3)
ON CONFLICT (queue, what) DO UPDATE SET number = excluded.number

-- queue_tally: how many tasks of a queue have one status.
-- ?1 queue  ?2 status
SELECT tasks FROM tally WHERE queue = ?1 AND status = ?2

-- tallies: how many tasks stand where, of all queues.
SELECT queue, status, tasks FROM tally WHERE tasks > 0

-- tallies_of_queue: how many tasks of a queue stand where.
-- ?1 queue
SELECT queue, status, tasks FROM tally WHERE queue = ?1 AND tasks > 0

-- count_finished: how many finished tasks a queue holds.
-- ?1 queue
SELECT coalesce(sum(tasks), 0) FROM tally WHERE queue = ?1 AND status >= 4

-- count_removed: adds to the number of tasks ever deleted from a queue.
-- ?1 queue  ?2 how many more
UPDATE queue SET removed = removed + ?2 WHERE key = ?1

-- queue_removed: how many tasks were ever deleted from a queue.
-- ?1 key
SELECT removed FROM queue WHERE key = ?1

-- delete_numbers: deletes the counts of a queue that is deleted, and its open minute.
-- ?1 queue
DELETE FROM queue_number WHERE queue = ?1
