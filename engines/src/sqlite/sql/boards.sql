-- create_board: the first commit to a board.
-- ?1 name
INSERT INTO board (name, revision, created, deleted) VALUES (?1, 0, 0, 0) RETURNING key

-- find_board: a board's key and its counter.
-- ?1 name
SELECT key, revision FROM board WHERE name = ?1

-- list_boards: a page of the boards, with their counters and the number of their tasks.
-- ?1 the name after which to go on  ?2 at most how many
SELECT name, revision, created - deleted AS tasks FROM board WHERE name > ?1 ORDER BY name LIMIT ?2

-- advance_board: the counts of a board after a change.
-- ?1 board  ?2 the latest revision given  ?3 tasks created  ?4 tasks deleted
UPDATE board SET revision = ?2, created = created + ?3, deleted = deleted + ?4 WHERE key = ?1

-- insert_board_task: a task that a commit creates.
-- ?1 board  ?2 revision  ?3 group  ?4 time  ?5 owner  ?6 labels  ?7 type of the data  ?8 error  ?9 data
INSERT INTO board_task (board, revision, group_name, at, owner, labels, data_type, error, data)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
RETURNING key

-- find_board_task: what a commit needs of the task at a revision.
-- ?1 board  ?2 revision
SELECT key, revision, group_name, at, owner, labels IS NOT NULL AS has_labels FROM board_task WHERE board = ?1 AND revision = ?2

-- get_board_task: all of the task at a revision.
-- ?1 board  ?2 revision
SELECT key, revision, group_name, at, owner, labels, data_type, error, data FROM board_task
WHERE board = ?1 AND revision = ?2

-- list_board_tasks: a page of a group.
-- ?1 board  ?2 group  ?3, ?4 after this time and revision  ?5 the latest time that is listed  ?6 at most how many
SELECT key, revision, group_name, at, owner, labels, data_type, error, data FROM board_task
WHERE board = ?1 AND group_name = ?2 AND (at, revision) > (?3, ?4) AND at <= ?5
ORDER BY at, revision
LIMIT ?6

-- next_board_tasks: the revisions and times of the earliest tasks of a group, from the index alone.
-- ?1 board  ?2 group  ?3 at most how many
SELECT revision, at FROM board_task WHERE board = ?1 AND group_name = ?2 ORDER BY at, revision LIMIT ?3

-- board_tasks_of_group: what a commit needs of the tasks of a group.
-- ?1 board  ?2 group  ?3 at most how many
SELECT key, revision, group_name, at, owner, labels IS NOT NULL AS has_labels FROM board_task
WHERE board = ?1 AND group_name = ?2
LIMIT ?3

-- board_tasks_of_label: what a commit needs of the tasks with a value of a label.
-- ?1 board  ?2 label  ?3 value  ?4 at most how many
SELECT t.key, t.revision, t.group_name, t.at, t.owner, 1 AS has_labels
FROM board_label l CROSS JOIN board_task t ON t.key = l.task
WHERE l.board = ?1 AND l.label = ?2 AND l.value = ?3
LIMIT ?4

-- set_board_content: the new content of a task that a commit updates.
-- ?1 key  ?2 labels  ?3 type of the data  ?4 error  ?5 data
UPDATE board_task SET labels = ?2, data_type = ?3, error = ?4, data = ?5 WHERE key = ?1

-- move_board_task: the new place of a task that a commit updates or a take leases.
-- ?1 key  ?2 revision  ?3 group  ?4 time  ?5 owner
UPDATE board_task SET revision = ?2, group_name = ?3, at = ?4, owner = ?5 WHERE key = ?1

-- delete_board_task: a task that a commit deletes.
-- ?1 key
DELETE FROM board_task WHERE key = ?1

-- insert_board_label: a label of a task.
-- ?1 task  ?2 label  ?3 value  ?4 board
INSERT INTO board_label (task, label, value, board) VALUES (?1, ?2, ?3, ?4)

-- labels_of_board_task: the board and the labels of a task.
-- ?1 task
SELECT board, labels FROM board_task WHERE key = ?1

-- board_labels_of_task: the labels by which a task is found.
-- ?1 task  ?2 board
SELECT label, value FROM board_label WHERE task = ?1 AND board = ?2

-- delete_board_labels: of a task that is gone or gets other ones.
-- ?1 task
DELETE FROM board_label WHERE task = ?1

-- count_board_group: the tasks of a group after a change.
-- ?1 board  ?2 group  ?3 how many more tasks  ?4 the revision that wakes callers, or 0
INSERT INTO board_group (board, name, tasks, woken_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (board, name) DO UPDATE SET tasks = tasks + excluded.tasks, woken_at = max(woken_at, excluded.woken_at)

-- board_group_size: how many tasks a group holds.
-- ?1 board  ?2 group
SELECT tasks FROM board_group WHERE board = ?1 AND name = ?2

-- board_group_woken_at: the revision at which callers that wait for a group were last woken.
-- ?1 name of a board  ?2 group
SELECT woken_at FROM board_group WHERE board = (SELECT key FROM board WHERE name = ?1) AND name = ?2

-- list_board_groups: a page of the groups of a board.
-- ?1 board  ?2 the least name that is listed  ?3 at most how many
SELECT name, tasks FROM board_group WHERE board = ?1 AND name >= ?2 ORDER BY name LIMIT ?3

-- drop_board_group: a group that holds no task any more.
-- ?1 board  ?2 group
DELETE FROM board_group WHERE board = ?1 AND name = ?2 AND tasks = 0

-- drop_empty_board_groups: groups of a board that hold no task.
-- ?1 board
DELETE FROM board_group
WHERE board = ?1
  AND NOT EXISTS (SELECT 1 FROM board_task t WHERE t.board = board_group.board AND t.group_name = board_group.name)

-- put_board_mark: a commit is applied under a mark.
-- ?1 board  ?2 mark
INSERT INTO board_mark (board, mark) VALUES (?1, ?2)

-- find_board_mark: whether a commit was applied under a mark.
-- ?1 board  ?2 mark
SELECT 1 FROM board_mark WHERE board = ?1 AND mark = ?2

-- all_board_marks: the marks of a board's commits.
-- ?1 board
SELECT mark FROM board_mark WHERE board = ?1 ORDER BY mark

-- recount_board: the counts of a board by what is there. Its counter is at least its tasks' highest revision.
-- ?1 board
UPDATE board
SET created = deleted + (SELECT count(*) FROM board_task WHERE board = ?1),
    revision = max(revision, (SELECT coalesce(max(revision), 0) FROM board_task WHERE board = ?1))
WHERE key = ?1

-- recount_board_groups: the counts of the groups of a board that hold tasks.
-- ?1 board
INSERT INTO board_group (board, name, tasks, woken_at)
SELECT board, group_name, count(*), max(revision) FROM board_task WHERE board = ?1 GROUP BY group_name
ON CONFLICT (board, name) DO UPDATE SET tasks = excluded.tasks
