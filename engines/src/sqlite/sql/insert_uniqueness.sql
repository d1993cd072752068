-- insert_uniqueness: keeps what a submission said of being the only one of its kind.
-- ?1 task  ?2 said
INSERT INTO uniqueness (task, said) VALUES (?1, ?2)
