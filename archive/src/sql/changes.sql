-- put_change: inserts a change. One that is here without a known outcome takes that of the new one; any other stays.
-- Changes one row or none.
-- ?1 id  ?2 at  ?3 key, or NULL  ?4 operation  ?5 object, or NULL  ?6 result  ?7 entry
INSERT INTO change (id, at, key, operation, object, result, entry) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO UPDATE SET at = excluded.at, object = excluded.object, result = excluded.result, entry = excluded.entry
WHERE change.result = 'unknown' AND excluded.result <> 'unknown'

-- whole_changes: the next changes in the order of time.
-- ?1, ?2 continue after this time and id  ?3 limit
SELECT at, id, entry FROM change WHERE (at, id) > (?1, ?2) ORDER BY at, id LIMIT ?3

-- count_changes: the number of changes.
SELECT changes FROM change_count

-- prune_changes_by_age: deletes changes by age, the oldest first.
-- ?1 before this time  ?2 limit
DELETE FROM change WHERE id IN (SELECT id FROM change WHERE at < ?1 ORDER BY at, id LIMIT ?2)

-- prune_changes: deletes the oldest changes.
-- ?1 limit
DELETE FROM change WHERE id IN (SELECT id FROM change ORDER BY at, id LIMIT ?1)

-- has_changes: whether the file has a table of changes; one of an earlier version that is only read has none.
SELECT count(*) FROM sqlite_schema WHERE name = 'change'
