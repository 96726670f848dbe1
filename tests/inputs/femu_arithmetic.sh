#!/bin/bash
kib=1024
pages=$((256 * 2))
program_ns=$(( 200 * 1000 * 3 ))
mib=$(expr 12 \* $kib)
options=(
  -device femu,femu_mode=1,devsz_mb=$mib,pgs_per_blk=$pages,pg_wr_lat=${program_ns},op_pcent=${SPARE:-0} # one device
)
options+=(-nographic)
./qemu-system-x86_64 "${options[@]}"
