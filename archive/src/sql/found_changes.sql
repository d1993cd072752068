-- page_of_changes: changes that match, the latest first.
-- :before_at, :before continue before this time and id; :limit; and those of matching_changes.sql
SELECT at, id, entry FROM change
WHERE (at, id) < (:before_at, :before) AND MATCHING
ORDER BY at DESC, id DESC
LIMIT :limit
