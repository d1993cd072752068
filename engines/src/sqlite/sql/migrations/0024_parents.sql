-- 0024_parents: what tasks keep of their predecessors until they are over.

-- The predecessors of a task, as its submission named them. One that `holds` is not over.
CREATE TABLE parent (
    successor   INTEGER NOT NULL, -- key of a task
    place       INTEGER NOT NULL,
    predecessor TEXT    NOT NULL, -- id of a task
    holds       INTEGER NOT NULL DEFAULT 1 CHECK (holds IN (0, 1)),
    PRIMARY KEY (successor, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX parent_held ON parent (predecessor) WHERE holds = 1;

-- How tasks ended that were deleted while another one held them.
CREATE TABLE held_result (
    id          TEXT    NOT NULL PRIMARY KEY,
    status      INTEGER NOT NULL CHECK (status BETWEEN 4 AND 9),
    result_type TEXT,
    result      BLOB
) STRICT;
