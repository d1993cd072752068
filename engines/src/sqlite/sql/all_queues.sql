-- all_queues: the queues and their configuration.
SELECT key, name, config FROM queue
