-- being_weighed: the key up to which the tasks of a queue have been counted, and the key up to which they must be.
-- ?1 queue
SELECT weighed, weigh_until FROM queue WHERE key = ?1 AND weighed IS NOT NULL
