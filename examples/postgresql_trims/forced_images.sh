#!/bin/sh
# Without full_page_writes, begin a base backup during a checkpoint that a cancelled backup asked for: pages changed now
# have images, which the backup forces, and count from this checkpoint, but the VACUUM between had none. Crash, and
# recover into standby. POSTGRESQL is where the patched PostgreSQL is; run it as a user that is not root. It prints how
# many pages of the file are zeros, then "100", or why there is no recovery: where an image counts while
# full_page_writes is off, "6 pages of zeros", and "PANIC:  WAL contains references to invalid pages".
. "$(dirname "$0")/standby.sh"
psql -qAt > /dev/null << 'END'
CREATE TABLE u AS SELECT i, repeat('x', 500) AS pad FROM generate_series(1, 40000) i;
SELECT count(*) FROM t;
CHECKPOINT;
UPDATE u SET i = i + 1; -- so much that the next checkpoint takes its time
SET statement_timeout = '1s';
SELECT pg_backup_start('cancelled', false);
SET statement_timeout = 0;
VACUUM t;
END
psql -qAt -c "SELECT pg_backup_start('waits', false)" > /dev/null 2>&1 &
sleep 1
psql -qAt -c "UPDATE t SET i = i + 1000 WHERE i IN (1, 20, 40, 60, 80)"
sleep 2
recover_into_standby
