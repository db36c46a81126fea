// valgrind 3.19 writes into the mask that a program gives to sigsuspend, and the one that libdispatch gives lies in memory
// that nobody may write to: valgrind itself crashes. Loaded with LD_PRELOAD, this gives it a copy.

#define _GNU_SOURCE

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, 8);
}
