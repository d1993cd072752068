-- 0032_spontaneous: tasks that end by themselves once their dependencies are signalled.
ALTER TABLE dependent ADD COLUMN spontaneous INTEGER NOT NULL DEFAULT 0;
