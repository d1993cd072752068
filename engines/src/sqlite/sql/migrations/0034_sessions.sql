-- 0034_sessions: people who have signed in at the pages.
CREATE TABLE session (
    id         TEXT NOT NULL PRIMARY KEY, -- the digest of a text that a browser has
    session    TEXT NOT NULL, -- JSON
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_end ON session (expires_at);
