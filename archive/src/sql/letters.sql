-- insert_letter: inserts a letter unless it exists. Changes one row or none.
-- ?1 id  ?2 revision  ?3 queue  ?4 name  ?5 version  ?6 status  ?7 failed_at  ?8 attempt  ?9 worker  ?10 kind  ?11 error
-- ?12 fingerprint  ?13 copy  ?14 whether its task is sensitive
INSERT INTO letter (id, revision, queue, name, version, status, failed_at, attempt, worker, kind, error, fingerprint,
                    state, copy, sensitive)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'dead', ?13, ?14)
ON CONFLICT DO NOTHING

-- advance_letter: notes what another archive knows of a letter that is new or dead here. Changes one row or none.
-- ?1 id  ?2 revision  ?3 state  ?4 when it was sent, or NULL  ?5 the operation that sent it, or NULL  ?6 whether it is new
UPDATE letter SET state = ?3, resubmitted_at = ?4, operation = ?5
WHERE id = ?1 AND revision = ?2 AND (state = 'dead' OR ?6)

-- latest_letter: the latest letter of a task, whole.
-- ?1 id
SELECT key, id, revision, queue, name, version, status, failed_at, attempt, worker, kind, error, fingerprint, state,
       resubmitted_at, operation, sensitive, copy
FROM letter
WHERE id = ?1
ORDER BY revision DESC
LIMIT 1

-- history: every failure of a task, the oldest first.
-- ?1 id
SELECT at, attempt, worker, kind, message, error_kind FROM failure WHERE id = ?1 ORDER BY at, attempt

-- insert_failure: adds a failure to a task's history unless it is there.
-- ?1 id  ?2 at  ?3 attempt  ?4 worker  ?5 kind  ?6 message  ?7 kind of error, or null
INSERT INTO failure (id, at, attempt, worker, kind, message, error_kind)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING

-- count_of_task: the number of letters of a task, and how many of them a deletion takes: none that is being sent again.
-- ?1 id
SELECT count(*) AS letters, count(*) FILTER (WHERE state <> 'resubmitting') AS deletable FROM letter WHERE id = ?1

-- delete_of_task: deletes a task's letters; none that is being sent again.
-- ?1 id
DELETE FROM letter WHERE id = ?1 AND state <> 'resubmitting'

-- supersede: of the dead letters of a task, those before its latest letter are superseded.
-- ?1 id
UPDATE letter SET state = 'superseded'
WHERE id = ?1 AND state = 'dead' AND revision < (SELECT max(revision) FROM letter WHERE id = ?1)

-- settle_letter: notes the new state of a letter that was to be sent again.
-- ?1 key  ?2 state  ?3 when it was sent, or NULL
UPDATE letter
SET state = ?2, resubmitted_at = ?3, operation = iif(?2 = 'dead', NULL, operation)
WHERE key = ?1

-- take_letter: assigns a letter to an operation.
-- ?1 key  ?2 operation
UPDATE letter SET state = 'resubmitting', operation = ?2 WHERE key = ?1

-- free_letters: gives back the letters that an operation has not sent.
-- ?1 operation
UPDATE letter SET state = 'dead', operation = NULL
WHERE operation = ?1 AND state = 'resubmitting'
  AND key IN (SELECT letter FROM item WHERE operation = ?1 AND outcome IS NULL)

-- sent_letters: one page of the letters that an operation has sent again, whether or not they still exist.
-- ?1 operation  ?2 the first place  ?3 limit
SELECT place, task, revision
FROM item
WHERE operation = ?1 AND place >= ?2 AND outcome = 'resubmitted' AND revision IS NOT NULL
ORDER BY place
LIMIT ?3

-- whole_letters: the next letters in the order of arrival, whole, and whether each is the latest of its task.
-- ?1 continue after this key  ?2 limit
SELECT key, state, resubmitted_at, operation,
       NOT EXISTS (SELECT 1 FROM letter AS later WHERE later.id = letter.id AND later.revision > letter.revision)
           AS is_latest,
       copy
FROM letter
WHERE key > ?1
ORDER BY key
LIMIT ?2

-- waiting: the number of dead letters of each queue and task, and when the first of them failed.
SELECT queue, name, letters,
       (SELECT min(failed_at) FROM letter INDEXED BY letter_waiting
        WHERE letter.queue = tally.queue AND letter.name = tally.name AND state = 'dead') AS first_failed_at
FROM tally
WHERE state = 'dead' AND letters > 0
ORDER BY queue, name

-- total: the number of letters.
SELECT coalesce(sum(letters), 0) FROM tally

-- archive_id: the id of this archive.
SELECT id FROM archive

-- prune_by_age: deletes letters by age, the oldest first; none that is being sent again.
-- ?1 failed before this time  ?2 limit
DELETE FROM letter
WHERE key IN (SELECT key FROM letter WHERE failed_at < ?1 AND state <> 'resubmitting' ORDER BY failed_at LIMIT ?2)

-- prune_of_state: deletes letters in a state, the oldest first.
-- ?1 state  ?2 limit
DELETE FROM letter WHERE key IN (SELECT key FROM letter WHERE state = ?1 ORDER BY key LIMIT ?2)
