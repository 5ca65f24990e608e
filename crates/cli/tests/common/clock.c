/* A wall clock that a test sets, loaded by LD_PRELOAD into one process.
 *
 * The file named by CLOCK_FILE says by how many milliseconds the wall clock is off; it is read whenever somebody asks for the
 * time, so that the clock can be set while the process runs. No other clock is touched. This file makes raw system calls: it
 * must not meet itself.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long off_ms(void) {
    char text[32] = {0};
    const char *file = getenv("CLOCK_FILE");
    int fd = file ? syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return 0;
    syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    return atoll(text);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    if (syscall(SYS_clock_gettime, id, now)) return -1;
    if (id == CLOCK_REALTIME) {
        long long ns = now->tv_nsec + off_ms() % 1000 * 1000000;
        now->tv_sec += off_ms() / 1000 + (ns >= 1000000000 ? 1 : ns < 0 ? -1 : 0);
        now->tv_nsec = ns >= 1000000000 ? ns - 1000000000 : ns < 0 ? ns + 1000000000 : ns;
    }
    return 0;
}
