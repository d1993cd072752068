-- archive_id: what tells this archive apart from every other.
SELECT id FROM archive
