-- archive_id: the id of this archive.
SELECT id FROM archive
