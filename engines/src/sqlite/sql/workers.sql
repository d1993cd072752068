-- put_worker: notes a worker's report.
-- ?1 id  ?2 report  ?3 started_at  ?4 seen_at  ?5 expires_at
INSERT OR REPLACE INTO worker (id, report, started_at, seen_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)

-- find_worker: the registration of a worker.
-- ?1 id
SELECT report, started_at, seen_at, expires_at FROM worker WHERE id = ?1

-- all_workers: the registrations of all workers, in the order of their ids.
SELECT id, report, started_at, seen_at, expires_at FROM worker ORDER BY id

-- delete_worker: forgets a worker.
-- ?1 id
DELETE FROM worker WHERE id = ?1

-- silent_workers: workers without a recent report, by what was written.
-- ?1 now
SELECT id FROM worker WHERE expires_at <= ?1

-- put_draining: asks a worker to claim nothing more.
-- ?1 worker  ?2 now
INSERT INTO draining (worker, since) VALUES (?1, ?2)

-- all_draining: the workers that are to claim nothing more, and since when.
SELECT worker, since FROM draining

-- delete_draining: ends the drain of a worker, because it may claim again or is gone.
-- ?1 worker
DELETE FROM draining WHERE worker = ?1

-- put_loss: notes the loss of a worker.
-- ?1 worker  ?2 when it began  ?3 suspects  ?4 tasks it held
INSERT OR REPLACE INTO worker_loss (worker, at, suspects, leases) VALUES (?1, ?2, ?3, ?4)

-- find_loss: the latest loss of a worker.
-- ?1 worker
-- Returns when it began, and how many suspects and tasks the worker held.
SELECT at, suspects, leases FROM worker_loss WHERE worker = ?1

-- forget_losses: forgets losses of workers that began before a time.
-- ?1 the time
DELETE FROM worker_loss WHERE at < ?1

-- keep_catalogue: keeps a catalogue of tasks, for longer if it is there.
-- ?1 id  ?2 tasks  ?3 expires_at
INSERT INTO catalogue (id, tasks, expires_at) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at

-- get_catalogue: a catalogue of tasks, unless its time is over.
-- ?1 id  ?2 now
SELECT tasks FROM catalogue WHERE id = ?1 AND expires_at > ?2

-- delete_old_catalogues: deletes expired catalogues.
-- ?1 now
DELETE FROM catalogue WHERE expires_at <= ?1
