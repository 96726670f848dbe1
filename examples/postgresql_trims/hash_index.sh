#!/bin/sh
# Hold a VACUUM of a hash index (gdb) between the assembly of its record and the record's insertion, while another
# session changes the bucket's page, which the record names and VACUUM has only pinned; commit a row; crash; recover.
# POSTGRESQL is where the patched PostgreSQL is; run it as a user that is not root. It prints "1|1499": the row and the
# rows of the table. In the patch's first form the record took an image of this page, its checksum in WAL was wrong, and
# recovery ended there: "incorrect resource manager data checksum in record", and the row is lost, or the catalogue too.
set -eu
place=$(mktemp -d) && cd "$place"
trap 'pg_ctl -D data -m immediate -s stop || true; rm -r "$place"' EXIT
export PATH="$POSTGRESQL/bin:$PATH" LD_LIBRARY_PATH="$POSTGRESQL/lib" PGHOST="$place" PGDATABASE=postgres

begin() {
  options="-k $place -c listen_addresses= -c autovacuum=off -c deallocate_logged_pages=on"
  pg_ctl -D data -w -s -l "$1.log" -o "$options" start
}

initdb -D data --no-locale --auth=trust > /dev/null
begin first
psql -qAt << 'END'
CREATE TABLE t(i int, n int);
CREATE INDEX ON t USING hash(i);
INSERT INTO t SELECT 7, n FROM generate_series(1, 2000) n;
CREATE TABLE acknowledged(i int);
DELETE FROM t WHERE n > 1500;
CHECKPOINT;
END
mkfifo words
psql -qAt -f words > vacuum.out 2>&1 &
exec 7> words
echo "SELECT pg_backend_pid();" >&7
sleep 1
# 12 is the resource manager of hash indexes, in the header of the record that XLogInsertRecord is given.
cat > hold.gdb << 'END'
set confirm off
handle SIGUSR1 nostop noprint pass
break XLogInsertRecord if *(unsigned char*)(*(char**)($rdi+8)+17)==12
continue
shell touch held; sleep 4
delete
detach
quit
END
gdb -q -batch -p "$(head -n 1 vacuum.out)" -x hold.gdb > gdb.out 2>&1 &
sleep 3
echo "VACUUM (INDEX_CLEANUP on) t;" >&7
while [ ! -e held ]; do sleep 0.2; done
# An index scan marks the entry of the row that is gone, with no more than a shared lock.
PGOPTIONS="-c statement_timeout=3s -c enable_seqscan=off -c enable_bitmapscan=off" psql -qAt > /dev/null << 'END' || true
DELETE FROM t WHERE n = 405;
SELECT i, n FROM t WHERE i = 7 LIMIT 8;
END
sleep 5
psql -qAt -c "INSERT INTO acknowledged VALUES (1)"
exec 7>&-
pg_ctl -D data -m immediate -s stop
begin second
psql -qAt -c "SELECT (SELECT count(*) FROM acknowledged), (SELECT count(*) FROM t)" || true
! grep 'data checksum' second.log
