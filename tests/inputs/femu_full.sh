#!/bin/sh
# as large as its flash
qemu-system-x86_64 -device femu,femu_mode=1,devsz_mb=16384
