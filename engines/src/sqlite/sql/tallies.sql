-- tallies: how many tasks stand where, of all queues.
SELECT queue, status, tasks FROM tally WHERE tasks > 0
