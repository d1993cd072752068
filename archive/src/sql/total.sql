-- total: the number of letters.
SELECT coalesce(sum(letters), 0) FROM tally
