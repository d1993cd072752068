-- 0035_logged_changes: changes for the audit log, until an archive has them.
CREATE TABLE logged_change (
    number   INTEGER PRIMARY KEY,  -- a revision: grows in the order in which changes were logged
    id       TEXT    NOT NULL UNIQUE,
    begun_at INTEGER NOT NULL,
    record   TEXT    NOT NULL,     -- JSON
    outcome  TEXT                  -- JSON; NULL while it is not known
) STRICT;
