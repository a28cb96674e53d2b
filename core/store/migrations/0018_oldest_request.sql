-- A session that waits for the user shows its oldest open request, which is the one asked first.

UPDATE session
SET (activity_kind, activity, updated_at) = (
    SELECT kind, object, started_at FROM step
    WHERE step.id >> 32 = session.number AND ended_at = 0 AND kind IN ('question', 'permission')
    ORDER BY started_at, step.id LIMIT 1
)
WHERE status = 'waiting' AND EXISTS (
    SELECT 1 FROM step
    WHERE step.id >> 32 = session.number AND ended_at = 0 AND kind IN ('question', 'permission')
);
