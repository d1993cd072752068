-- find_slot: the sums of a slot.
-- ?1 queue  ?2 grain  ?3 number
SELECT sums FROM history_slot WHERE queue = ?1 AND grain = ?2 AND number = ?3

-- set_slot: replaces the sums of a slot.
-- ?1 queue  ?2 grain  ?3 number  ?4 sums
UPDATE history_slot SET sums = ?4 WHERE queue = ?1 AND grain = ?2 AND number = ?3

-- insert_slot: begins a slot of a queue.
-- ?1 queue  ?2 grain  ?3 number  ?4 sums
INSERT INTO history_slot (queue, grain, number, sums) VALUES (?1, ?2, ?3, ?4)

-- forget_slots: deletes the slots of a queue that are not kept any more.
-- ?1 queue  ?2 grain  ?3 number of the earliest slot that is kept
DELETE FROM history_slot WHERE queue = ?1 AND grain = ?2 AND number < ?3

-- read_slots: the slots of a queue.
-- ?1 queue  ?2 grain  ?3 first number  ?4 last number
SELECT number, sums FROM history_slot WHERE queue = ?1 AND grain = ?2 AND number BETWEEN ?3 AND ?4
ORDER BY number

-- last_slot: the number of the latest slot of a queue.
-- ?1 queue  ?2 grain
SELECT number FROM history_slot WHERE queue = ?1 AND grain = ?2 ORDER BY number DESC LIMIT 1

-- delete_slots: deletes the slots of a queue that is deleted.
-- ?1 queue
DELETE FROM history_slot WHERE queue = ?1
