-- delete_orphans: forgets the histories of tasks that have no letter any more.
DELETE FROM failure WHERE id NOT IN (SELECT id FROM letter)
