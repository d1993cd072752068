-- 0019_dependencies: tasks that wait for others.
--
-- A task with `linked` has dependencies, or others have depended on it: only the end of such a task looks at the tables
-- below. An edge is stored until it is signalled, so nothing can signal it twice.

ALTER TABLE task ADD COLUMN linked INTEGER NOT NULL DEFAULT 0 CHECK (linked IN (0, 1));

CREATE TABLE dependency (
    predecessor INTEGER NOT NULL, -- key of a task
    since       INTEGER NOT NULL, -- the revision with which the successor was taken in
    successor   INTEGER NOT NULL, -- key of a task
    policy      INTEGER NOT NULL CHECK (policy BETWEEN 0 AND 2),
    PRIMARY KEY (predecessor, since, successor)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependency_successor ON dependency (successor, predecessor);

-- How many edges a task was taken in with, and how many of them are signalled.
CREATE TABLE dependent (
    task    INTEGER PRIMARY KEY,
    total   INTEGER NOT NULL,
    signals INTEGER NOT NULL CHECK (signals BETWEEN 0 AND total)
) STRICT;

-- Ends of tasks with more successors than one step moves: their edges with a `since` below `before` are still to be
-- signalled. Later edges belong to a later life of the task.
CREATE TABLE signal_due (
    number      INTEGER PRIMARY KEY,
    predecessor INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    before      INTEGER NOT NULL,
    status      INTEGER NOT NULL CHECK (status BETWEEN 4 AND 9)
) STRICT;
