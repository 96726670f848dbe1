#!/bin/sh
# Switch full_page_writes on after a checkpoint and a VACUUM, whose records of visibility have no images; change pages,
# whose images then count from this checkpoint; crash, and recover into standby. POSTGRESQL is where the patched
# PostgreSQL is; run it as a user that is not root. It prints how many pages of the file are zeros, then "100", or why
# there is no recovery: in the patch's first form "6 pages of zeros", and "PANIC:  WAL contains references to invalid pages".
. "$(dirname "$0")/standby.sh"
psql -qAt > /dev/null << 'END'
SELECT count(*) FROM t;
CHECKPOINT;
VACUUM t;
ALTER SYSTEM SET full_page_writes = on;
SELECT pg_reload_conf(), pg_sleep(1);
UPDATE t SET i = i + 1000 WHERE i IN (1, 20, 40, 60, 80);
SELECT pg_sleep(2);
END
recover_into_standby
