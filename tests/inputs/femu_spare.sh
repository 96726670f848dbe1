qemu-system-x86_64 -device femu,femu_mode=1,nchs=2,luns_per_ch=4,blks_per_pl=64,op_pcent=50,gc_thres_pcent=92,pe_suspend=on,tsusp_ns=20000,buffer_size=1024,vwc=1
