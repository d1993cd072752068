-- Workflows: runs of graphs of tasks. Their tasks are ordinary tasks.

CREATE TABLE workflow (
    id TEXT PRIMARY KEY,
    -- New at each change, from the store's counter.
    revision INTEGER NOT NULL,
    -- 0 submitting, 1 running, 2 completed, 3 failed, 4 cancelled.
    state INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- When there is something to do, in microseconds; NULL for never.
    next_at INTEGER,
    -- The run as JSON.
    run TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX workflow_created ON workflow (created_at, id);
CREATE INDEX workflow_state ON workflow (state, created_at, id);
CREATE INDEX workflow_due ON workflow (next_at, id) WHERE next_at IS NOT NULL;

-- Apart from the runs, which change often: definitions may be large, and never change.
CREATE TABLE workflow_definition (
    id TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL
) STRICT;
