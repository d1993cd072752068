-- 0004_sensitive: letters of sensitive tasks. Their messages are in the copy alone, so that no search finds them.

ALTER TABLE letter ADD COLUMN sensitive INTEGER NOT NULL DEFAULT 0; -- 1: of a sensitive task
