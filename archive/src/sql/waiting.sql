-- waiting: the number of dead letters of each queue and task, and when the first of them failed.
SELECT queue, name, letters,
       (SELECT min(failed_at) FROM letter INDEXED BY letter_waiting
        WHERE letter.queue = tally.queue AND letter.name = tally.name AND state = 'dead')
FROM tally
WHERE state = 'dead' AND letters > 0
ORDER BY queue, name
