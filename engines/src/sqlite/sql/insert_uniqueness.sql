-- insert_uniqueness: stores the uniqueness constraint of a submission.
-- ?1 task  ?2 said
INSERT INTO uniqueness (task, said) VALUES (?1, ?2)
