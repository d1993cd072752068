-- outbox_size: how many copies are on the outbox.
SELECT count(*) FROM outbox INDEXED BY outbox_place
