-- put_workflow: stores a run.
-- ?1 id  ?2 revision  ?3 state  ?4 created_at  ?5 next_at  ?6 run
INSERT INTO workflow (id, revision, state, created_at, next_at, run) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, state = excluded.state, created_at = excluded.created_at,
    next_at = excluded.next_at, run = excluded.run
