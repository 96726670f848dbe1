#!/bin/sh
# Switch full_page_writes on after a checkpoint and a VACUUM, whose records of visibility have no images; change pages,
# whose images then count from this checkpoint; crash, and recover into standby. POSTGRESQL is where the patched
# PostgreSQL is; run it as a user that is not root. It prints how many pages of the file are zeros, then "100", or why
# there is no recovery: in the patch's first form "6 pages of zeros", and "PANIC:  WAL contains references to invalid pages".
set -eu
place=$(mktemp -d) && cd "$place"
trap 'pg_ctl -D data -m immediate -s stop || true; rm -r "$place"' EXIT
export PATH="$POSTGRESQL/bin:$PATH" LD_LIBRARY_PATH="$POSTGRESQL/lib" PGHOST="$place" PGDATABASE=postgres

begin() {
  pg_ctl -D data -w -s -l "$1.log" start
}

initdb -D data --no-locale --auth=trust > /dev/null
cat >> data/postgresql.conf << END
unix_socket_directories = '$place'
listen_addresses = ''
autovacuum = off
bgwriter_lru_maxpages = 0
deallocate_logged_pages = on
full_page_writes = off
END
begin first
psql -qAt > /dev/null << 'END'
CREATE TABLE t(i int, pad text);
INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 100) i;
SELECT count(*) FROM t;
CHECKPOINT;
VACUUM t;
ALTER SYSTEM SET full_page_writes = on;
SELECT pg_reload_conf(), pg_sleep(1);
UPDATE t SET i = i + 1000 WHERE i IN (1, 20, 40, 60, 80);
SELECT pg_sleep(2);
END
python3 - "data/$(psql -qAt -c "SELECT pg_relation_filepath('t')")" << 'END'
import sys
data = open(sys.argv[1], "rb").read()
print(sum(not any(data[at : at + 8192]) for at in range(0, len(data), 8192)), "pages of zeros")
END
pg_ctl -D data -m immediate -s stop
touch data/standby.signal
if begin second; then
  psql -qAt -c "SELECT count(*) FROM t"
else
  grep -E 'PANIC|FATAL' second.log
  exit 1
fi
