/** What flash does, and why: the places of causes, erases and reads among the colours and the counts. */

export const CAUSES = ["host", "evict", "gc", "refresh", "wear_levelling", "destage", "metadata"] as const;
export const ERASE = CAUSES.length;
export const READ = CAUSES.length + 1;
