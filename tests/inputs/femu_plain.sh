#!/bin/bash
# The size of the drive is a variable, as in the scripts that come with FEMU.
pages=256; blocks=256
size_mb=12288
OPTIONS="-device femu,femu_mode=1"
OPTIONS=${OPTIONS}",devsz_mb=${size_mb},secsz=512,secs_per_pg=8"
OPTIONS=${OPTIONS}",pgs_per_blk=${pages},blks_per_pl=${blocks},pls_per_lun=1,luns_per_ch=8,nchs=8"
OPTIONS=${OPTIONS}",pg_rd_lat=40000,pg_wr_lat=200000,blk_er_lat=2000000"
OPTIONS=${OPTIONS}",gc_thres_pcent=75,gc_thres_pcent_high=95"
./qemu-system-x86_64 -m 4G ${OPTIONS} -nographic
