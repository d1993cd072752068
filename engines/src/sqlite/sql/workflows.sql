-- put_workflow: stores a run.
-- ?1 id  ?2 revision  ?3 state  ?4 created_at  ?5 next_at  ?6 run
INSERT INTO workflow (id, revision, state, created_at, next_at, run) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, state = excluded.state, created_at = excluded.created_at,
    next_at = excluded.next_at, run = excluded.run

-- find_workflow: a run by its id.
-- ?1 id
SELECT run, revision FROM workflow WHERE id = ?1

-- workflow_revision: the revision of a run.
-- ?1 id
SELECT revision FROM workflow WHERE id = ?1

-- list_workflows: runs, the latest first.
-- ?1 created before this  ?2 or then, with an id before this one  ?3 at most how many
SELECT run, revision FROM workflow WHERE (created_at, id) < (?1, ?2) ORDER BY created_at DESC, id DESC LIMIT ?3

-- list_workflows_in: runs in a state, the latest first.
-- ?1 created before this  ?2 or then, with an id before this one  ?3 at most how many  ?4 state
SELECT run, revision FROM workflow
WHERE state = ?4 AND (created_at, id) < (?1, ?2) ORDER BY created_at DESC, id DESC LIMIT ?3

-- list_workflows_oldest: runs, the oldest first.
-- ?1 created after this  ?2 or then, with an id after this one  ?3 at most how many
SELECT run, revision FROM workflow WHERE (created_at, id) > (?1, ?2) ORDER BY created_at, id LIMIT ?3

-- list_workflows_oldest_in: runs in a state, the oldest first.
-- ?1 created after this  ?2 or then, with an id after this one  ?3 at most how many  ?4 state
SELECT run, revision FROM workflow
WHERE state = ?4 AND (created_at, id) > (?1, ?2) ORDER BY created_at, id LIMIT ?3

-- count_workflows: how many runs there are by state.
SELECT state, count(*) AS runs FROM workflow GROUP BY state

-- due_workflows: runs with something to do, the longest due first, and the first one of the future.
-- ?1 at most how many
SELECT run, revision, next_at FROM workflow WHERE next_at IS NOT NULL ORDER BY next_at, id LIMIT ?1

-- touch_workflow: a task of a run was sent again or replaced by itself, and all its tasks are submitted: it is due at once.
-- ?1 id  ?2 revision  ?3 now
UPDATE workflow SET revision = ?2, next_at = ?3 WHERE id = ?1 AND state > 0

-- delete_workflow: deletes a run.
-- ?1 id
DELETE FROM workflow WHERE id = ?1

-- put_workflow_definition: stores the definition of a new run.
-- ?1 id  ?2 definition
INSERT INTO workflow_definition (id, definition) VALUES (?1, ?2)

-- find_workflow_definition: the definition of a run.
-- ?1 id
SELECT definition FROM workflow_definition WHERE id = ?1

-- delete_workflow_definition: deletes the definition of a run.
-- ?1 id
DELETE FROM workflow_definition WHERE id = ?1
