-- 0005_error_kinds: what sort of error a failed attempt met, where its task function said so.
ALTER TABLE failure ADD COLUMN error_kind TEXT;
