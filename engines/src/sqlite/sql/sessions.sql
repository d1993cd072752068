-- put_session: stores a session of the pages.
-- ?1 id  ?2 session  ?3 expires_at
INSERT INTO session (id, session, expires_at) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET session = excluded.session, expires_at = excluded.expires_at

-- find_session: a session that has not ended.
-- ?1 id  ?2 now
SELECT session FROM session WHERE id = ?1 AND expires_at > ?2

-- end_session: ends a session.
-- ?1 id
DELETE FROM session WHERE id = ?1

-- forget_sessions: deletes those that have ended, and of too many those that end first.
-- ?1 now  ?2 how many are kept
DELETE FROM session WHERE expires_at <= ?1
OR expires_at < (SELECT min(expires_at) FROM (SELECT expires_at FROM session ORDER BY expires_at DESC LIMIT ?2))
