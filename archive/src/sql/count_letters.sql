-- count_letters: how many letters match.
-- Those of matching.sql.
SELECT count(*) FROM letter WHERE MATCHING
