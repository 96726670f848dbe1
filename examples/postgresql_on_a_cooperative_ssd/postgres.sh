# Begin and end a server of PostgreSQL as its user, and ask it. Read by the other scripts.
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin) # where Debian has the server
export PATH

as() {
  if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# Begin the server of a folder; FSYNC=off has it forget to sync.
begin() {
  data=$1
  sockets=$(as mktemp -d)
  as pg_ctl -D "$data" -w -s -l "$sockets/log" \
    -o "-k $sockets -c listen_addresses= -c fsync=${FSYNC:-on}" start || { cat "$sockets/log" >&2 && exit 1; }
}

sql() {
  as psql -h "$sockets" -d postgres -q -t -A -v ON_ERROR_STOP=1 -c "$1"
}

# End it in the way of pg_ctl: fast, or immediate as in a crash.
end() {
  as pg_ctl -D "$data" -m "$1" -s stop
  as rm -r "$sockets"
}
