-- find_minute: the open minute of a queue.
-- ?1 queue
SELECT number, sums FROM queue_number WHERE queue = ?1 AND what = 10

-- set_minute: replaces the open minute of a queue.
-- ?1 queue  ?2 number  ?3 sums
UPDATE queue_number SET number = ?2, sums = ?3 WHERE queue = ?1 AND what = 10

-- insert_minute: the first open minute of a queue.
-- ?1 queue  ?2 number  ?3 sums
INSERT INTO queue_number (queue, what, number, sums) VALUES (?1, 10, ?2, ?3)

-- insert_slot: a slot that is over, in place of what there is of it.
-- ?1 queue  ?2 grain  ?3 number  ?4 sums
INSERT INTO history_slot (queue, grain, number, sums) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (queue, grain, number) DO UPDATE SET sums = excluded.sums

-- forget_slots: deletes the slots of a queue that are not kept any more.
-- ?1 queue  ?2 grain  ?3 number of the earliest slot that is kept
DELETE FROM history_slot WHERE queue = ?1 AND grain = ?2 AND number < ?3

-- read_slots: the slots of a queue that are over.
-- ?1 queue  ?2 grain  ?3 first number  ?4 last number
SELECT number, sums FROM history_slot WHERE queue = ?1 AND grain = ?2 AND number BETWEEN ?3 AND ?4
ORDER BY number

-- last_slot: the number of the latest slot of a queue.
-- ?1 queue  ?2 grain
SELECT number FROM history_slot WHERE queue = ?1 AND grain = ?2 ORDER BY number DESC LIMIT 1

-- delete_slots: deletes the slots of a queue that is deleted.
-- ?1 queue
DELETE FROM history_slot WHERE queue = ?1
