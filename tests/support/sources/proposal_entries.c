/* The entries of proposal_host.c: they are put behind it. */
LIBTARGET_GLOBAL(table);
LIBTARGET_KERNEL(first);
LIBTARGET_KERNEL(second);
