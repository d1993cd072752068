-- 0002_tally: letters are counted as they come and go; operations can be cancelled, and know their letters' revisions.

-- Somebody asked for it to be stopped.
ALTER TABLE operation ADD COLUMN cancelled_at INTEGER;

-- Of the letter, which may be deleted before the operation's receipts are.
ALTER TABLE item ADD COLUMN revision INTEGER;
UPDATE item SET revision = (SELECT revision FROM letter WHERE key = item.letter) WHERE letter IS NOT NULL;

-- How many letters of a queue and a task are in a state. Triggers keep it, so that no statement can forget to.
CREATE TABLE tally (
    queue   TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    state   TEXT    NOT NULL,
    letters INTEGER NOT NULL,
    PRIMARY KEY (queue, name, state)
) STRICT, WITHOUT ROWID;

INSERT INTO tally SELECT queue, name, state, count(*) FROM letter GROUP BY queue, name, state;

CREATE TRIGGER letter_came AFTER INSERT ON letter BEGIN
    INSERT INTO tally VALUES (new.queue, new.name, new.state, 1) ON CONFLICT DO UPDATE SET letters = letters + 1;
END;

CREATE TRIGGER letter_moved AFTER UPDATE OF state ON letter WHEN old.state <> new.state BEGIN
    UPDATE tally SET letters = letters - 1 WHERE queue = old.queue AND name = old.name AND state = old.state;
    INSERT INTO tally VALUES (new.queue, new.name, new.state, 1) ON CONFLICT DO UPDATE SET letters = letters + 1;
END;

-- A history goes with the last letter of its task.
CREATE TRIGGER letter_went AFTER DELETE ON letter BEGIN
    UPDATE tally SET letters = letters - 1 WHERE queue = old.queue AND name = old.name AND state = old.state;
    DELETE FROM failure WHERE id = old.id AND NOT EXISTS (SELECT 1 FROM letter WHERE id = old.id);
END;

CREATE INDEX letter_queue   ON letter (queue, state, key);
CREATE INDEX letter_name    ON letter (name, state, key);
CREATE INDEX letter_waiting ON letter (queue, name, failed_at) WHERE state = 'dead';
