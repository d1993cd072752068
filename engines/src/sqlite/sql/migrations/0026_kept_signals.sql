-- 0026_kept_signals: signals that came before their tasks.

CREATE TABLE kept_signal (
    task  TEXT    NOT NULL, -- id of a task that does not exist yet
    name  TEXT    NOT NULL,
    until INTEGER NOT NULL, -- when it is forgotten
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_signal_until ON kept_signal (until);
