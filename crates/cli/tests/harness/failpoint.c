/* FAIL POINTS: the kill test's other striker, loaded by LD_PRELOAD where there is no strace; and a small disk, where none
 * can be mounted.
 *
 * Each function below stands before the one of the same name in the C library. On the way into a call it does what the
 * environment asks for, and then hands the call on:
 *
 *   FAILPOINT_RECORD                                  the file that gets a line for each call
 *   FAILPOINT_CALL, FAILPOINT_PATH, FAILPOINT_NUMBER  the call that gets SIGKILL: its kind, its file, the how-many-eth
 *   FAILPOINT_DISK, FAILPOINT_DISK_BYTES              the folder whose files are this long together at most: a call that
 *                                                     would make them longer finds no room, and changes nothing
 *
 * A line reads like one of strace's, so that one reader does for both: `7 pwrite64("/case/root/head")`. A call is named
 * after the system call that it makes. Numbers count the calls of the whole process, not of one thread.
 *
 * It cannot see a system call that does not go through these functions. The test
 * `strace_and_fail_points_see_the_same_calls` shows that there is none. All calls that are watched are in WRITES
 * (point.rs), and a test holds the two lists together. This file makes raw system calls: it must not meet itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int record = -1;
static const char *struck_call, *struck_path;
static long struck_number;
static atomic_long calls;
static const char *disk;
static long disk_bytes;

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("FAILPOINT_RECORD"), *number = getenv("FAILPOINT_NUMBER");
    if (file) record = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struck_call = getenv("FAILPOINT_CALL");
    struck_path = getenv("FAILPOINT_PATH");
    struck_number = number && struck_call && struck_path ? atol(number) : 0;
    const char *bytes = getenv("FAILPOINT_DISK_BYTES");
    disk = getenv("FAILPOINT_DISK");
    disk_bytes = bytes && disk ? atol(bytes) : 0;
}

/* The file of a call: its whole name, or else what the descriptor stands for. */
static const char *file_of(int fd, const char *name, char found[PATH_MAX]) {
    char link[32];
    if (name && (name[0] == '/' || fd < 0)) return name;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long bytes = syscall(SYS_readlinkat, AT_FDCWD, link, found, PATH_MAX - 1);
    found[bytes < 0 ? 0 : bytes] = 0;
    return found;
}

/* What happens on the way into a call. It leaves errno as it was. */
static void enter(const char *call, int fd, const char *name, int flags) {
    char found[PATH_MAX], line[PATH_MAX + 64];
    int before = errno;
    const char *path = file_of(fd, name, found);
    if (record >= 0) {
        /* The reader asks which opens can change a file. */
        const char *how = flags & O_CREAT ? ", O_CREAT" : flags & O_TRUNC ? ", O_TRUNC" : "";
        int bytes = snprintf(line, sizeof line, "%ld %s(\"%s\"%s)\n", syscall(SYS_gettid), call, path, how);
        /* One write, to a file opened for appending: the lines of two threads do not mix. */
        if (syscall(SYS_write, record, line, bytes) != bytes) abort();
    }
    int is_struck = struck_number && !strcmp(call, struck_call) && !strcmp(path, struck_path);
    if (is_struck && atomic_fetch_add(&calls, 1) + 1 == struck_number) {
        /* The other threads go on as far as they can without this call: who acknowledges too early has done so. */
        usleep(10 * 1000);
        syscall(SYS_kill, getpid(), SIGKILL);
    }
    errno = before;
}

static _Thread_local long counted;

static int count(const char *path, const struct stat *found, int kind, struct FTW *walk) {
    (void)path, (void)walk;
    if (kind == FTW_F) counted += found->st_size;
    return 0;
}

/* Whether a file that ends there would be too long for the disk. What is written over what was there takes no room. */
static int has_no_room(int fd, long end) {
    char found[PATH_MAX];
    struct stat file;
    int before = errno;
    long grows = fstat(fd, &file) || !S_ISREG(file.st_mode) ? 0 : end - file.st_size;
    size_t length = strlen(disk);
    int is_full = 0;
    if (grows > 0 && !strncmp(file_of(fd, NULL, found), disk, length) && found[length] == '/') {
        counted = 0;
        /* A file that goes while it is counted takes no room. */
        nftw(disk, count, 16, FTW_PHYS);
        is_full = counted + grows > disk_bytes;
    }
    errno = before;
    return is_full;
}

/* Where a write ends that goes where the last one ended, or to the end of the file. */
static long end_of(int fd, long bytes) {
    int flags = fcntl(fd, F_GETFL);
    return bytes + lseek(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
}

static long sum(const struct iovec *parts, long count) {
    long bytes = 0;
    while (count-- > 0) bytes += parts[count].iov_len;
    return bytes;
}

/* All these functions take up to six numbers and pointers and return a number. Linux on 64-bit machines passes them in
 * registers, so one signature hands on all of them, and the mode that an open may have or not. The symbol is an
 * assembler name: no declaration or macro of that name in a header gets in the way. */
_Static_assert(sizeof(long) == 8 && sizeof(void *) == 8, "fail points are for 64-bit machines");
typedef long function(long, long, long, long, long, long);

#define STAND_BEFORE(symbol, call, fd, name, flags, end) \
    function before_##symbol __asm__(#symbol); \
    long before_##symbol(long a, long b, long c, long d, long e, long f) { \
        static function *next; \
        if (!next) next = (function *)dlsym(RTLD_NEXT, #symbol); \
        if (!next) return errno = ENOSYS, -1; \
        enter(call, fd, (const char *)(name), flags); \
        if (disk_bytes && has_no_room(fd, end)) return errno = ENOSPC, -1; \
        return next(a, b, c, d, e, f); \
    }
#define GROWS(symbol, call, end) STAND_BEFORE(symbol, call, a, NULL, 0, end)
#define BY_FD(symbol, call) STAND_BEFORE(symbol, call, a, NULL, 0, 0)
#define BY_NAME(symbol, call) STAND_BEFORE(symbol, call, -1, a, 0, 0)
#define BY_FOLDER(symbol, call) STAND_BEFORE(symbol, call, a, b, 0, 0)
#define PARTS sum((const struct iovec *)b, c)

/* Newer machines have only the calls with `at`, and the C library makes those. */
#ifdef SYS_unlink
#define OLD_OR_NEW(old, new) old
#else
#define OLD_OR_NEW(old, new) new
#endif

/* Names with 64 are for programs that ask for long offsets; on these machines all offsets are long. */
GROWS(write, "write", end_of(a, c)) GROWS(writev, "writev", end_of(a, PARTS))
GROWS(pwrite, "pwrite64", d + c) GROWS(pwrite64, "pwrite64", d + c)
GROWS(pwritev, "pwritev", d + PARTS) GROWS(pwritev64, "pwritev", d + PARTS)
GROWS(pwritev2, "pwritev2", d + PARTS) GROWS(pwritev64v2, "pwritev2", d + PARTS)
BY_FD(fsync, "fsync") BY_FD(fdatasync, "fdatasync") BY_FD(sync_file_range, "sync_file_range") BY_FD(syncfs, "syncfs")
BY_NAME(rename, OLD_OR_NEW("rename", "renameat"))
BY_FOLDER(renameat, "renameat") BY_FOLDER(renameat2, "renameat2")
BY_NAME(unlink, OLD_OR_NEW("unlink", "unlinkat")) BY_FOLDER(unlinkat, "unlinkat")
BY_NAME(rmdir, OLD_OR_NEW("rmdir", "unlinkat"))
BY_FD(ftruncate, "ftruncate") BY_FD(ftruncate64, "ftruncate")
BY_NAME(truncate, "truncate") BY_NAME(truncate64, "truncate")
GROWS(fallocate, "fallocate", c + d) GROWS(fallocate64, "fallocate", c + d)
BY_NAME(mkdir, OLD_OR_NEW("mkdir", "mkdirat")) BY_FOLDER(mkdirat, "mkdirat")
BY_NAME(chmod, OLD_OR_NEW("chmod", "fchmodat")) BY_FD(fchmod, "fchmod") BY_FOLDER(fchmodat, "fchmodat")
STAND_BEFORE(open, "openat", -1, a, b, 0) STAND_BEFORE(open64, "openat", -1, a, b, 0)
STAND_BEFORE(openat, "openat", a, b, c, 0) STAND_BEFORE(openat64, "openat", a, b, c, 0)
BY_NAME(creat, OLD_OR_NEW("creat", "openat")) BY_NAME(creat64, OLD_OR_NEW("creat", "openat"))
BY_NAME(link, OLD_OR_NEW("link", "linkat")) BY_FOLDER(linkat, "linkat")
BY_NAME(symlink, OLD_OR_NEW("symlink", "symlinkat")) BY_NAME(symlinkat, "symlinkat")
BY_FD(copy_file_range, "copy_file_range")
