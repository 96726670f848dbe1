# What the schedules share: a server with `deallocate_logged_pages` and without `full_page_writes`, its table `t`, and its
# recovery into standby after a crash. To be sourced. POSTGRESQL is where the patched PostgreSQL is; run it as a user that is not root.
# shellcheck shell=sh
set -eu
place=$(mktemp -d) && cd "$place"
trap 'pg_ctl -D data -m immediate -s stop || true; rm -r "$place"' EXIT
export PATH="$POSTGRESQL/bin:$PATH" LD_LIBRARY_PATH="$POSTGRESQL/lib" PGHOST="$place" PGDATABASE=postgres

begin() {
  pg_ctl -D data -w -s -l "$1.log" start
}

# Crash, print how many pages of the table `t` are zeros, recover into standby, and print how many rows it has, or why
# there is no recovery.
recover_into_standby() {
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
}

initdb -D data --no-locale --auth=trust > /dev/null
cat >> data/postgresql.conf << END
unix_socket_directories = '$place'
listen_addresses = ''
autovacuum = off
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
shared_buffers = 64MB
deallocate_logged_pages = on
full_page_writes = off
END
begin first
psql -qAt -c "CREATE TABLE t(i int, pad text); INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 100) i"
