-- lost_task: the fields that count a task whose lease was taken back and that ended.
-- ?1 key
SELECT queue.name, task.name, version, status, dead_letter FROM task JOIN queue ON queue.key = task.queue WHERE task.key = ?1
