#!/bin/sh
# Restore a base backup in which pages are missing: during the backup they are named by records without an image (of
# visibility), then logged whole, deallocated, and copied as zeros. POSTGRESQL is where the patched PostgreSQL is; run it
# as a user that is not root. It prints "5000|2", or why there is no recovery: without the patch's change in
# heapam.c that is "PANIC:  WAL contains references to invalid pages".
set -eu
place=$(mktemp -d) && cd "$place"
trap 'pg_ctl -D data -m immediate -s stop || true; pg_ctl -D copy -m immediate -s stop || true; rm -r "$place"' EXIT
export PATH="$POSTGRESQL/bin:$PATH" LD_LIBRARY_PATH="$POSTGRESQL/lib" PGHOST="$place" PGDATABASE=postgres

begin() {
  pg_ctl -D "$1" -w -s -l "$1.log" -o "-k $place -c listen_addresses= -c autovacuum=off -c deallocate_logged_pages=on" start
}

initdb -D data --no-locale --auth=trust > /dev/null
begin data
psql -qAt -c "CREATE TABLE t(i int, v text); INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 5000) i"
psql -qAt > /dev/null << 'END'
SELECT pg_backup_start('copy', true);
VACUUM t;
UPDATE t SET v = 'y' WHERE i = 1;
UPDATE t SET v = 'y' WHERE i = 2000;
SELECT pg_sleep(7);
\! cp -a data copy && rm -f copy/postmaster.pid copy/pg_wal/0*
SELECT labelfile FROM pg_backup_stop() \g copy/backup_label
SELECT pg_switch_wal();
END
pg_ctl -D data -m immediate -s stop
echo "restore_command = 'cp $place/data/pg_wal/%f %p'" >> copy/postgresql.conf
touch copy/recovery.signal
if begin copy; then
  psql -qAt -c "SELECT count(*), count(*) FILTER (WHERE v = 'y') FROM t"
else
  grep -E 'PANIC|FATAL' copy.log
  exit 1
fi
