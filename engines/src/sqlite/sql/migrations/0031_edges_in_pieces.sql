-- 0031_edges_in_pieces: dependencies of tasks that wait for many others, which later steps store.
--
-- `dependent.total` counts them from the start, so the task waits until all of them are stored and signalled.

CREATE TABLE link_due (
    number    INTEGER PRIMARY KEY,
    successor INTEGER NOT NULL, -- key of a task
    since     INTEGER NOT NULL, -- its position: it is another, or waits no longer, if it has another one
    place     INTEGER,          -- of the first predecessor; NULL if the task was restored with its predecessors
    edges     TEXT NOT NULL     -- as JSON: a list of the policy and the predecessor's id of each
) STRICT;
CREATE INDEX link_due_successor ON link_due (successor);
