-- find_task: what a verb must know of a task before it moves it.
-- ?1 id
-- Returns key, queue, status, fence, attempt, worker, cancel_requested, whether its parameters are in a side table, linked, and
-- overrides.
SELECT key, queue, status, fence, attempt, worker, cancel_requested, parameters IS NULL,
       linked, overrides
FROM task WHERE id = ?1
