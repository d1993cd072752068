-- gates_of_task: the fields that decide which gates a task has.
-- ?1 key
SELECT name, concurrency_key, version FROM task WHERE key = ?1

-- next_gated: the tasks of a queue that are claimed next, in order, as far as their gates are asked.
-- ?1 queue  ?2 limit  ?3 how many to pass over
-- Returns key, name, key of concurrency, version, overrides, ready_at and started_at.
SELECT key, name, concurrency_key, version, overrides, ready_at, started_at FROM task
WHERE status = 2 AND gate IS NULL AND queue = ?1
ORDER BY rank, position LIMIT ?2 OFFSET ?3

-- set_aside: sets a submitted task aside, behind a gate that is shut.
-- ?1 key  ?2 gate
UPDATE task SET gate = ?2 WHERE key = ?1

-- let_pass: the next tasks behind a gate come back to their places in the queue, or among its suspects.
-- ?1 queue  ?2 gate  ?3 limit
UPDATE task SET gate = iif(losses > 1, '!', NULL)
WHERE key IN (SELECT key FROM task WHERE status = 2 AND gate = ?2 AND queue = ?1 ORDER BY rank, position LIMIT ?3)

-- is_awaited: whether a task waits behind a gate.
-- ?1 queue  ?2 gate
SELECT EXISTS (SELECT 1 FROM task WHERE status = 2 AND gate = ?2 AND queue = ?1)

-- next_gate: the first gate of a limit after another one, by name, behind which a task waits. Suspects (`!`) and tasks of kinds
-- that some workers do not know (`?`) wait behind no limit.
-- ?1 queue  ?2 the other one
SELECT gate FROM task WHERE status = 2 AND gate > max(?2, '@') AND queue = ?1 ORDER BY gate LIMIT 1

-- next_unlimited_gate: the first gate after another one, by name, that is no limit's and behind which a task waits: `!` for
-- suspects, `?` and a kind for tasks that some workers do not know.
-- ?1 queue  ?2 the other one
SELECT gate FROM task WHERE status = 2 AND gate > ?2 AND gate < '@' AND queue = ?1 ORDER BY gate LIMIT 1

-- count_aside: how many tasks of a queue are set aside, for a limit or for workers that know their kind; at most so many are
-- counted.
-- ?1 queue  ?2 at most
SELECT count(*) FROM (SELECT 1 FROM task WHERE status = 2 AND gate >= '?' AND queue = ?1 LIMIT ?2)

-- leased_of_key: how many tasks of a key run.
-- ?1 queue  ?2 key of concurrency
SELECT count(*) FROM task WHERE status = 3 AND queue = ?1 AND concurrency_key = ?2

-- leased_of_names: how many tasks of each name run. Looks at every lease of the queue.
-- ?1 queue
SELECT name, count(*) AS leased FROM task WHERE status = 3 AND queue = ?1 GROUP BY name

-- holders_of_key: some of the tasks of a key that run, by their ids.
-- ?1 queue  ?2 key of concurrency  ?3 limit
SELECT id FROM task WHERE status = 3 AND queue = ?1 AND concurrency_key = ?2 ORDER BY id LIMIT ?3

-- holders_of_name: some of the tasks of a name that run, by their ids. Looks at every lease of the queue.
-- ?1 queue  ?2 name  ?3 limit
SELECT id FROM task WHERE status = 3 AND queue = ?1 AND name = ?2 ORDER BY id LIMIT ?3

-- ready_suspects: the ready tasks of a queue that are suspected of crashing their workers, in the order of claiming.
-- ?1 queue  ?2 limit
-- Returns key, losses, ran_s, name, key of concurrency and version.
SELECT key, losses, ran_s, name, concurrency_key, version FROM task
WHERE status = 2 AND gate = '!' AND queue = ?1
ORDER BY rank, position LIMIT ?2

-- count_suspects: how many suspects of a queue are ready.
-- ?1 queue
SELECT count(*) FROM task WHERE status = 2 AND gate = '!' AND queue = ?1

-- running_suspects: the suspects of a queue that run. Reads all that run.
-- ?1 queue
-- Returns id, losses, ran_s and started_at.
SELECT id, losses, ran_s, started_at FROM task WHERE status = 3 AND losses > 1 AND queue = ?1

-- held_suspects: how suspect each suspect is that a worker holds a lease on, and since when it holds it.
-- ?1 worker
SELECT losses, ran_s, started_at FROM task WHERE status = 3 AND losses > 1 AND worker = ?1

-- gate_mark: the rate mark of a gate.
-- ?1 queue  ?2 gate
SELECT mark FROM gate_mark WHERE queue = ?1 AND gate = ?2

-- set_gate_mark: notes that tasks of a gate with a rate have started.
-- ?1 queue  ?2 gate  ?3 mark
INSERT INTO gate_mark (queue, gate, mark) VALUES (?1, ?2, ?3) ON CONFLICT (queue, gate) DO UPDATE SET mark = excluded.mark

-- forget_gate_marks: deletes some rate marks that have passed and so have no effect.
-- ?1 queue  ?2 now
DELETE FROM gate_mark
WHERE queue = ?1 AND gate IN (SELECT gate FROM gate_mark WHERE queue = ?1 AND mark <= ?2 ORDER BY mark LIMIT 1000)

-- delete_gate_marks: deletes some rate marks of gates of a queue that is deleted.
-- ?1 queue  ?2 limit
DELETE FROM gate_mark WHERE queue = ?1 AND gate IN (SELECT gate FROM gate_mark WHERE queue = ?1 LIMIT ?2)

-- set_gate_due: a gate may let tasks pass from a time on.
-- ?1 queue  ?2 gate  ?3 due
INSERT INTO gate_due (queue, gate, due) VALUES (?1, ?2, ?3) ON CONFLICT (queue, gate) DO UPDATE SET due = excluded.due

-- is_gate_due: whether a gate may let tasks pass, now or from a time on.
-- ?1 queue  ?2 gate
SELECT 1 FROM gate_due WHERE queue = ?1 AND gate = ?2

-- due_gates: gates that may let tasks pass by now, the longest due first.
-- ?1 queue  ?2 now  ?3 limit
SELECT gate FROM gate_due WHERE queue = ?1 AND due <= ?2 ORDER BY due, gate LIMIT ?3

-- next_gate_due: the gate that is due next, and when.
-- ?1 queue
SELECT gate, due FROM gate_due WHERE queue = ?1 ORDER BY due, gate LIMIT 1

-- forget_gate_due: removes a due gate, because it stays shut until one of its tasks ends, or no task waits behind it.
-- ?1 queue  ?2 gate
DELETE FROM gate_due WHERE queue = ?1 AND gate = ?2

-- delete_gates_due: deletes some due gates of a queue that is deleted.
-- ?1 queue  ?2 limit
DELETE FROM gate_due WHERE queue = ?1 AND gate IN (SELECT gate FROM gate_due WHERE queue = ?1 LIMIT ?2)

-- set_gate_sweep: the gates of a queue after this one must be checked again.
-- ?1 queue  ?2 gate
INSERT INTO gate_sweep (queue, after) VALUES (?1, ?2) ON CONFLICT (queue) DO UPDATE SET after = excluded.after

-- gate_sweep: the gate after which a queue's gates must still be checked again.
-- ?1 queue
SELECT after FROM gate_sweep WHERE queue = ?1

-- all_gate_sweeps: the queues whose gates are being checked again.
SELECT queue FROM gate_sweep

-- end_gate_sweep: all gates of a queue have been checked again.
-- ?1 queue
DELETE FROM gate_sweep WHERE queue = ?1
