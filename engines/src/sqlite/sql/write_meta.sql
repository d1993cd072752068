-- write_meta: the counters. Every transaction that changed something writes them last.
-- ?1 revision  ?2 config_version  ?3 clock  ?4 commits
UPDATE meta SET revision = ?1, config_version = ?2, clock = ?3, commits = ?4
