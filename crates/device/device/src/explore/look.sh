#!/bin/sh
# Serve the device of this folder, and look at it: without arguments by the check, with `mount DIR` as a file system (root,
# nbdfuse), else by the command that is given. What it changes stays. Several devices in it are told apart by nbdkit.
set -eu
coflash=${COFLASH:-coflash}
command -v "$coflash" > /dev/null || { echo "$coflash is not on PATH: COFLASH=/path/to/coflash $0" >&2; exit 127; }
here=$(cd "$(dirname "$0")" && pwd)
sockets=$(mktemp -d)
export COFLASH_SOCKET="$sockets/nbd"
export COFLASH_NBD="nbd+unix:///?socket=$COFLASH_SOCKET"
@ENVIRONMENT@
"$coflash" serve --device "$here" --listen "$COFLASH_SOCKET" > "$sockets/address" &
server=$!
trap 'kill $server; wait $server || true; rm -r "$sockets"' EXIT
until [ -s "$sockets/address" ]; do kill -0 $server; sleep 0.1; done
sizes='@SIZES@'
[ "$sizes" != "${sizes#* }" ] || sizes=
begin=0
suffix=
for size in $sizes; do
  socket="$sockets/nbd${suffix:-_1}"
  nbdkit --exit-with-parent --foreground --unix "$socket" --filter=offset nbd "socket=$sockets/nbd" \
    "offset=$begin" "range=$size" &
  until [ -S "$socket" ]; do kill -0 $!; sleep 0.1; done
  export "COFLASH_SOCKET$suffix=$socket" "COFLASH_NBD$suffix=nbd+unix:///?socket=$socket"
  begin=$((begin + size))
  number=${suffix#_}
  suffix=_$((${number:-1} + 1))
done
if [ "${1:-}" = mount ]; then
  mkdir "$sockets/disk"
  nbdfuse "$sockets/disk" "$COFLASH_NBD" &
  until [ -e "$sockets/disk/nbd" ]; do sleep 0.1; done
  mount -o loop "$sockets/disk/nbd" "$2"
  echo "mounted on $2; an empty line ends this"
  read -r _ || true
  umount "$2"
  umount "$sockets/disk"
elif [ $# -gt 0 ]; then
  "$@"
else
  cd @PLACE@
  sh -c @CHECK@
fi
