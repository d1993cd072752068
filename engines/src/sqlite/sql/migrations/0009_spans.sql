-- 0009_spans: by which span a task's latest attempt can be found, for the next to refer to.
ALTER TABLE task ADD COLUMN last_span TEXT; -- a W3C traceparent; NULL where no attempt was kept in a trace
