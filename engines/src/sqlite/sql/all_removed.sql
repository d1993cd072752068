-- all_removed: how many tasks were ever deleted from each queue.
SELECT key, removed FROM queue
