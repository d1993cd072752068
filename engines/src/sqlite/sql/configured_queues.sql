-- configured_queues: the queues with settings of their own, and these.
SELECT key, name, config FROM queue INDEXED BY queue_configured WHERE config <> ''
