-- lost_task: what is counted of a task that ended when its lease was taken back.
-- ?1 key
SELECT queue.name, task.name, version, status, dead_letter FROM task JOIN queue ON queue.key = task.queue WHERE task.key = ?1
