-- 0017_unknown_tasks: since when a task was ready before workers that do not know it gave it back.
--
-- A ready task of a kind that some workers of its queue do not know is set aside behind the gate `?`, its name, `@` and its
-- version. These gates sort behind that of suspects and before those of limits.

ALTER TABLE stranger ADD COLUMN ready_at INTEGER;
