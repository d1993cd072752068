-- being_weighed: up to which key the tasks of a queue have been come to, and up to which they are to be.
-- ?1 queue
SELECT weighed, weigh_until FROM queue WHERE key = ?1 AND weighed IS NOT NULL
