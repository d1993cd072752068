-- 0015_tombstones: what is remembered of a pruned task whose id its client chose.

-- Tasks of an earlier version do not say who chose their id: each counts as chosen.
ALTER TABLE task ADD COLUMN id_is_chosen INTEGER NOT NULL DEFAULT 1;

CREATE TABLE tombstone (
    id          TEXT    PRIMARY KEY,
    fingerprint BLOB    NOT NULL,
    queue       TEXT    NOT NULL, -- the name: the queue may be gone
    status      INTEGER NOT NULL CHECK (status BETWEEN 4 AND 9),
    finished_at INTEGER NOT NULL,
    forget_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_time ON tombstone (forget_at);

-- How many there are, and when one was last forgotten before its time.
CREATE TABLE tombstones (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    count  INTEGER NOT NULL,
    cut_at INTEGER
) STRICT;
INSERT INTO tombstones VALUES (1, 0, NULL);
