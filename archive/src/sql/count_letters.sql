-- count_letters: the number of letters that match.
-- Parameters: those of matching.sql.
SELECT count(*) FROM letter WHERE MATCHING
