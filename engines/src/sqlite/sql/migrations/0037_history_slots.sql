-- 0037_history_slots: one row for all sums of a slot. An hour has a row once it is over; until then its minutes are read.
CREATE TABLE history_slot (
    queue  INTEGER NOT NULL,
    grain  INTEGER NOT NULL,  -- 0 minutes, 1 hours that are over
    number INTEGER NOT NULL,  -- minutes or hours since 1970
    sums   TEXT NOT NULL,     -- a JSON array: the counts, the tasks per bucket that waited, and those that ran
    PRIMARY KEY (queue, grain, number)
) STRICT, WITHOUT ROWID;

-- The times of each queue's latest hour, which is not over yet, go to its latest minute.
WITH RECURSIVE
    bucket (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM bucket WHERE place < 31),
    latest (queue, minute, hour) AS (
        SELECT queue, max(number) FILTER (WHERE grain = 0), max(number) FILTER (WHERE grain = 1) FROM history GROUP BY queue
    )
INSERT INTO history_slot (queue, grain, number, sums)
SELECT queue, grain, number, concat('[', concat_ws(',', accepted, started, completed, failed, other, retried, (
    SELECT group_concat(coalesce(tasks, 0), ',' ORDER BY place)
    FROM bucket LEFT JOIN history_time AS times
        ON times.queue = history.queue AND what = place / 16 AND times.bucket = place % 16
        AND times.number = CASE WHEN grain = 1 THEN history.number WHEN history.number = minute THEN hour END
)), ']')
FROM history JOIN latest USING (queue)
WHERE grain = 0 OR number < hour;

DROP TABLE history;
DROP TABLE history_time;
