#!/bin/sh
# Measures a drive for `coflash calibrate`: writes about @PASSES@ times its capacity. ALL DATA ON THE DRIVE IS LOST.
# Needs fio and the rights of root, and nvme-cli for the drive's counters. Results are files beside this script; a step
# that has its results is not repeated, and `coflash calibrate` reads the folder.
set -eu
DRIVE=${1:?usage: $0 /dev/nvmeXnY}
export DRIVE
cd "$(dirname "$0")"
[ -b "$DRIVE" ] || { echo "$DRIVE is no block device" >&2; exit 2; }
for tool in fio blkdiscard wipefs lsblk; do
    command -v $tool >/dev/null || { echo "$tool is not installed" >&2; exit 2; }
done
if lsblk -nro MOUNTPOINT "$DRIVE" | grep -q .; then
    echo "$DRIVE is in use" >&2
    exit 2
fi
identity=$(lsblk -dnbo SIZE,MODEL,SERIAL "$DRIVE")
if [ -s drive.txt ] && [ "$identity" != "$(cat drive.txt)" ]; then
    echo "the results here are of another drive: $(cat drive.txt); use another folder" >&2
    exit 2
fi
command -v nvme >/dev/null || echo "nvme-cli is not installed: write amplification will not be known" >&2
size=$(lsblk -dnbo SIZE "$DRIVE")
echo "At 500 MiB/s this takes about $((size / 1048576 * @PASSES@ / 500 / 3600 + @TIMED_HOURS@)) hours."
printf 'All data on %s will be destroyed. Type its name to go on: ' "$DRIVE"
read -r answer
[ "$answer" = "$DRIVE" ] || { echo "nothing was done" >&2; exit 1; }
echo "$identity" >drive.txt

log() { # the counters of the drive, as far as it has them
    command -v nvme >/dev/null || return 0
    nvme smart-log "$DRIVE" -o json >"$1.smart.json" || :
    nvme ocp smart-add-log "$DRIVE" -o json >"$1.ocp.json" || :
    nvme fdp stats "$DRIVE" -e 1 -o json >"$1.fdp.json" || :
}
trimmed() { # before a fill: what it does not write is free
    [ -s "$1.json" ] && return
    wipefs --all --quiet "$DRIVE" # fails on a drive that is in use
    blkdiscard "$DRIVE"
}
step() {
    [ -s "$1.json" ] && return
    echo "$1: $2"
    log "$1.before"
    fio --output-format=json --output="$1.json.part" "$1.fio"
    log "$1.after"
    mv "$1.json.part" "$1.json"
}
