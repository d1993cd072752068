-- 0006_workers: what workers can run, and which of them are to claim nothing more.

CREATE TABLE catalogue (
    id         TEXT PRIMARY KEY, -- the digest of its text
    tasks      TEXT    NOT NULL, -- JSON
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Not bound to `worker`: a worker that is cut off for a while is forgotten, and still drains when it is back.
CREATE TABLE draining (
    worker TEXT PRIMARY KEY,
    since  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
