-- 0010_route_ranges: routing rules for ranges of versions. Those for one version, and for all, stay in `route`.

CREATE TABLE route_range (
    name         TEXT    NOT NULL,
    version_from INTEGER NOT NULL,
    version_to   INTEGER NOT NULL, -- included; 4294967295 where it is open
    rule         TEXT    NOT NULL, -- JSON
    PRIMARY KEY (name, version_from, version_to)
) STRICT, WITHOUT ROWID;
