-- 0016_created_queues: a queue may exist without settings of its own.
--
-- Such a queue has an empty `config`, and the default settings. The index finds the queues that have settings, so that
-- reading the configuration costs by these and not by how many queues exist.

CREATE INDEX queue_configured ON queue (key) WHERE config <> '';
