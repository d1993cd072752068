-- 0033_access_keys: what clients of managers sign in with.
CREATE TABLE access_key (
    id     TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;
