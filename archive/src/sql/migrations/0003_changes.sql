-- 0003_changes: the audit log.

-- A change. Its columns are for searches; `entry` has all of it.
CREATE TABLE change (
    id        TEXT    NOT NULL PRIMARY KEY,
    at        INTEGER NOT NULL,
    key       TEXT,                -- the id of the access key that signed the client in
    operation TEXT    NOT NULL,
    object    TEXT,
    result    TEXT    NOT NULL CHECK (result IN ('done', 'refused', 'failed', 'unknown')),
    entry     TEXT    NOT NULL     -- JSON: common's AuditEntry
) STRICT;

CREATE INDEX change_at        ON change (at, id);
CREATE INDEX change_key       ON change (key, at, id);
CREATE INDEX change_operation ON change (operation, at, id);
CREATE INDEX change_object    ON change (object, at, id);

-- How many changes there are. Triggers keep it, so that no statement can forget to.
CREATE TABLE change_count (changes INTEGER NOT NULL) STRICT;
INSERT INTO change_count VALUES (0);

CREATE TRIGGER change_came AFTER INSERT ON change BEGIN
    UPDATE change_count SET changes = changes + 1;
END;

CREATE TRIGGER change_went AFTER DELETE ON change BEGIN
    UPDATE change_count SET changes = changes - 1;
END;
