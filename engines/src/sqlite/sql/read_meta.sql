-- read_meta: the counters. Every transaction reads them first.
SELECT revision, config_version, clock, commits FROM meta
