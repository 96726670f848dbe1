#!/bin/sh
# the size is an argument of the script
qemu-system-x86_64 -device femu,femu_mode=1,devsz_mb=$1,nchs=${2}
