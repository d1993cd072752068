-- count_tombstones: how many tombstones there are, and when one was last forgotten before its time.
SELECT count, cut_at FROM tombstones
