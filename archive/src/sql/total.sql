-- total: how many letters there are.
SELECT coalesce(sum(letters), 0) FROM tally
