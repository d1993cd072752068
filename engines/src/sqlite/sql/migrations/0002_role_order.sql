-- 0002_role_order: what a role says besides its queues.

ALTER TABLE role ADD COLUMN config TEXT; -- JSON, the whole role; NULL where only `queues` was ever said
