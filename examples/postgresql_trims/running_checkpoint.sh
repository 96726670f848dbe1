#!/bin/sh
# Switch full_page_writes on after a checkpoint and a VACUUM; begin another checkpoint, and change pages before it is
# complete: their images count from this checkpoint, but recovery begins at the one before. Crash, and recover into
# standby. POSTGRESQL is where the patched PostgreSQL is; run it as a user that is not root. It prints how many pages of
# the file are zeros, then "100", or why there is no recovery: where the checkpoint that has begun is asked, not the
# complete one, some pages of zeros, and "PANIC:  WAL contains references to invalid pages".
. "$(dirname "$0")/standby.sh"
psql -qAt > /dev/null << 'END'
CREATE TABLE u AS SELECT i, repeat('x', 500) AS pad FROM generate_series(1, 40000) i;
SELECT count(*) FROM t;
CHECKPOINT;
VACUUM t;
ALTER SYSTEM SET full_page_writes = on;
SELECT pg_reload_conf(), pg_sleep(1);
UPDATE u SET i = i + 1; -- so much that the next checkpoint takes its time
SET statement_timeout = '1s';
SELECT pg_backup_start('cancelled', false);
UPDATE t SET i = i + 1000 WHERE i IN (1, 20, 40, 60, 80);
END
sleep 2
recover_into_standby
