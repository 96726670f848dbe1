/*
 * Deallocate a page of a file without making a hole: its blocks stay the file's, and the drive below forgets what is in
 * them. A library to be preloaded: a hole that is asked for becomes a discard of the blocks, of the block device that
 * BLOCK_DEVICE names and on which the file system lies. For experiments: the file system is not told.
 *
 *   cc -shared -fPIC -O2 -o in_place.so in_place.c
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXTENTS 32

int
fallocate(int file, int mode, off_t offset, off_t length)
{
	static int device = -1;
	struct
	{
		struct fiemap map;
		struct fiemap_extent extents[EXTENTS];
	} found;
	unsigned long long end = offset + length;

	if (mode != (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE))
		return syscall(SYS_fallocate, file, mode, offset, length);
	if (device < 0 && (device = open(getenv("BLOCK_DEVICE"), O_RDWR | O_CLOEXEC)) < 0)
		return -1;
	memset(&found, 0, sizeof(found));
	found.map.fm_start = offset;
	found.map.fm_length = length;
	found.map.fm_extent_count = EXTENTS;
	if (ioctl(file, FS_IOC_FIEMAP, &found.map) < 0)
		return -1;
	for (unsigned i = 0; i < found.map.fm_mapped_extents; i++)
	{
		struct fiemap_extent *extent = &found.extents[i];
		unsigned long long from = extent->fe_logical, to = from + extent->fe_length, range[2];

		/* What has no place yet, or is no data of its own, is left alone. */
		if (extent->fe_flags & ~(FIEMAP_EXTENT_LAST | FIEMAP_EXTENT_MERGED))
			continue;
		from = from > (unsigned long long) offset ? from : (unsigned long long) offset;
		to = to < end ? to : end;
		range[0] = extent->fe_physical + (from - extent->fe_logical);
		range[1] = to - from;
		if (ioctl(device, BLKDISCARD, range) < 0)
			return -1;
	}
	return 0;
}
