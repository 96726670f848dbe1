#!/bin/bash
# Eight handles, persistently isolated, over reclaim units of 256 MiB.
blocks=985
units=$((blocks * 1))
lazy_gc_pcent=5
handles="0;1;2;3;4;5;6;7"
DRIVE="-device femu,devsz_mb=229376,femu_mode=1,pgs_per_blk=1024,blks_per_pl=${blocks}"
DRIVE=${DRIVE}",pg_rd_lat=10000,pg_wr_lat=2500,blk_er_lat=10000,gc_thres_pcent=90,gc_thres_pcent_high=99"
DRIVE=${DRIVE}",fdp.ruhs=${handles},subsys=s0"
echo ${DRIVE}
qemu-system-x86_64 \
    -device femu-subsys,id=s0,nqn=s0,fdp=on,fdp.nruh=8,fdp.nrg=1,fdp.nru=${units},fdp.isolation_mode=1 \
    ${DRIVE} -nographic
