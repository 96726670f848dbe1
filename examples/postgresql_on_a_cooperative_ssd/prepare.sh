#!/bin/sh
# Make a bank in PostgreSQL on the empty file system of the device; SETTING is a line more of its configuration.
set -eu
[ -n "${MNT:-}" ] || exec "$(dirname "$0")/../mounted.sh" "$0"
. "$(dirname "$0")/postgres.sh"
chmod 711 "$(dirname "$MNT")"
mkdir "$MNT/bank"
[ "$(id -u)" != 0 ] || chown postgres "$MNT/bank"
as initdb -D "$MNT/bank" --wal-segsize=1 --no-locale --encoding=UTF8 --auth=trust > /dev/null
echo "${SETTING:-}" >> "$MNT/bank/postgresql.conf"
begin "$MNT/bank"
sql 'CREATE TABLE account AS SELECT id, 1000 AS balance FROM generate_series(0, 99) AS id'
sql 'CREATE TABLE transfer(number integer PRIMARY KEY)'
end fast
