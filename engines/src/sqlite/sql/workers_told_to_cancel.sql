-- workers_told_to_cancel: the workers that hold a task with a cancel request.
SELECT DISTINCT worker FROM task WHERE cancel_requested = 1
