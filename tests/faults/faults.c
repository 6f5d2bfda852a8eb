/* Fails the n-th call of some kinds on files below a folder; preloaded before the C library.

   FAULTS_BELOW   the folder; without it nothing is counted
   FAULTS_KINDS   letters of the kinds: r(ead) w(rite) o(pen) s(ync) n(ame) m(kdir) u(nlink) l(ock)
                  t(runcate, reserve) a(llocate) p(thread)
   FAULTS_AT      the call that fails, from 1; 0 for none
   FAULTS_ERROR   its errno; 0 for half a write
   FAULTS_ON      if set, the calls after it fail too
   FAULTS_LOG     a file that gets the kind, number and path of every call of any kind
   FAULTS_CLOCK   seconds by which the time of day, but no other clock, jumps at every call */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

enum { GOES_ON, FAILS, HALVED };

static atomic_int counted, heard;
static __thread int inside;

static void place(char *out, size_t size, int folder, const char *path) {
    char link[64];
    ssize_t length = 0;
    out[0] = 0;
    if (path && path[0] == '/') {
        snprintf(out, size, "%s", path);
        return;
    }
    if (folder == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    length = syscall(SYS_readlinkat, AT_FDCWD, link, out, size - 1);
    out[length < 0 ? 0 : length] = 0;
    if (length > 0 && path) snprintf(out + length, size - length, "/%s", path);
}

static int judge(char kind, const char *where, const char *other) {
    char line[9000];
    const char *below = getenv("FAULTS_BELOW"), *log = getenv("FAULTS_LOG");
    const char *kinds = getenv("FAULTS_KINDS"), *at = getenv("FAULTS_AT");
    const char *code = getenv("FAULTS_ERROR");
    int number = 0, error = code ? atoi(code) : EIO;
    if (!below || inside) return GOES_ON;
    if (where && strncmp(where, below, strlen(below))) return GOES_ON;
    atomic_fetch_add(&heard, 1);
    if (kinds && strchr(kinds, kind)) number = 1 + atomic_fetch_add(&counted, 1);
    if (log) {
        int length = snprintf(line, sizeof line, "%c\t%d\t%s\t%s\n", kind, number,
                              where ? where : "", other ? other : "");
        int file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0666);
        if (file >= 0) {
            syscall(SYS_write, file, line, length);
            syscall(SYS_close, file);
        }
    }
    if (!number || !at || !atoi(at)) return GOES_ON;
    if (number != atoi(at) && !(getenv("FAULTS_ON") && number > atoi(at))) return GOES_ON;
    if (!error) return kind == 'w' ? HALVED : GOES_ON;
    errno = error;
    return FAILS;
}

static int at_path(char kind, int folder, const char *path, const char *other) {
    char where[4096];
    if (!getenv("FAULTS_BELOW")) return GOES_ON;
    place(where, sizeof where, folder, path);
    return judge(kind, where, other);
}

static int at_file(char kind, int file) { return at_path(kind, file, NULL, NULL); }

#define OPEN(name, before, folder, ...) \
    int name before { \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, flags); \
            mode = va_arg(rest, mode_t); \
            va_end(rest); \
        } \
        REAL(name); \
        char kind = flags & (O_WRONLY | O_RDWR) ? 'O' : 'o'; \
        if (at_path('o', folder, path, kind == 'O' ? "to write" : NULL) == FAILS) return -1; \
        return real(__VA_ARGS__, flags, mode); \
    }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path)
OPEN(openat, (int folder, const char *path, int flags, ...), folder, folder, path)
OPEN(openat64, (int folder, const char *path, int flags, ...), folder, folder, path)

#define FOPEN(name) \
    FILE *name(const char *path, const char *mode) { \
        REAL(name); \
        const char *how = mode[0] == 'r' ? NULL : "to write"; \
        if (at_path('o', AT_FDCWD, path, how) == FAILS) return NULL; \
        return real(path, mode); \
    }
FOPEN(fopen)
FOPEN(fopen64)

DIR *opendir(const char *path) {
    REAL(opendir);
    return at_path('o', AT_FDCWD, path, NULL) == FAILS ? NULL : real(path);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    REAL(fwrite);
    return at_file('w', fileno(file)) == FAILS ? 0 : real(data, size, count, file);
}

ssize_t write(int file, const void *data, size_t size) {
    REAL(write);
    int fate = at_file('w', file);
    return fate == FAILS ? -1 : real(file, data, fate == HALVED ? (size + 1) / 2 : size);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(writev);
    return at_file('w', file) == FAILS ? -1 : real(file, parts, count);
}

#define PWRITE(name, offset_t) \
    ssize_t name(int file, const void *data, size_t size, offset_t start) { \
        REAL(name); \
        int fate = at_file('w', file); \
        return fate == FAILS ? -1 : real(file, data, fate == HALVED ? (size + 1) / 2 : size, start); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t read(int file, void *data, size_t size) {
    REAL(read);
    return at_file('r', file) == FAILS ? -1 : real(file, data, size);
}

#define PREAD(name, offset_t) \
    ssize_t name(int file, void *data, size_t size, offset_t start) { \
        REAL(name); \
        return at_file('r', file) == FAILS ? -1 : real(file, data, size, start); \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

#define ON_FILE(kind, name, arguments, ...) \
    int name arguments { \
        REAL(name); \
        return at_file(kind, file) == FAILS ? -1 : real(__VA_ARGS__); \
    }
ON_FILE('s', fsync, (int file), file)
ON_FILE('s', fdatasync, (int file), file)
ON_FILE('t', ftruncate, (int file, off_t size), file, size)
ON_FILE('t', ftruncate64, (int file, off64_t size), file, size)
ON_FILE('l', flock, (int file, int how), file, how)

#define RESERVE(name, offset_t) \
    int name(int file, offset_t start, offset_t size) { \
        REAL(name); \
        return at_file('t', file) == FAILS ? errno : real(file, start, size); \
    }
RESERVE(posix_fallocate, off_t)
RESERVE(posix_fallocate64, off64_t)

#define FCNTL(name) \
    int name(int file, int how, ...) { \
        va_list rest; \
        va_start(rest, how); \
        void *argument = va_arg(rest, void *); \
        va_end(rest); \
        REAL(name); \
        int locks = how == F_SETLK || how == F_SETLKW; \
        if (locks && at_file('l', file) == FAILS) return -1; \
        return real(file, how, argument); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

#define ON_PATH(kind, name, arguments, folder, path, other, ...) \
    int name arguments { \
        REAL(name); \
        return at_path(kind, folder, path, other) == FAILS ? -1 : real(__VA_ARGS__); \
    }
ON_PATH('n', rename, (const char *path, const char *new), AT_FDCWD, path, new, path, new)
ON_PATH('n', renameat, (int a, const char *path, int b, const char *new), a, path, new, a, path, b,
        new)
ON_PATH('n', renameat2, (int a, const char *path, int b, const char *new, unsigned how), a, path, new,
        a, path, b, new, how)
ON_PATH('m', mkdir, (const char *path, mode_t mode), AT_FDCWD, path, NULL, path, mode)
ON_PATH('m', mkdirat, (int a, const char *path, mode_t mode), a, path, NULL, a, path, mode)
ON_PATH('u', unlink, (const char *path), AT_FDCWD, path, NULL, path)
ON_PATH('u', unlinkat, (int a, const char *path, int how), a, path, NULL, a, path, how)
ON_PATH('u', rmdir, (const char *path), AT_FDCWD, path, NULL, path)

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *for_it) {
    REAL(pthread_create);
    return judge('p', NULL, NULL) == FAILS ? errno : real(thread, how, work, for_it);
}

/* Allocations of 256 KiB and more. */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int refused(size_t size) {
    if (size < 1 << 18 || inside) return 0;
    int fate = judge('a', NULL, NULL);
    if (fate == FAILS) errno = ENOMEM;
    return fate == FAILS;
}

void *malloc(size_t size) { return refused(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
    return refused(count * size) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) { return refused(size) ? NULL : __libc_realloc(old, size); }
int posix_memalign(void **out, size_t unit, size_t size) {
    if (refused(size)) return ENOMEM;
    return (*out = __libc_memalign(unit, size)) ? 0 : ENOMEM;
}
void *aligned_alloc(size_t unit, size_t size) {
    return refused(size) ? NULL : __libc_memalign(unit, size);
}

/* The time of day. */

static time_t jump(void) {
    const char *seconds = getenv("FAULTS_CLOCK");
    return seconds ? (time_t)atoi(seconds) * atomic_load(&heard) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int done = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += jump();
    return done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(gettimeofday);
    int done = real(now, zone);
    now->tv_sec += jump();
    return done;
}

time_t time(time_t *now) {
    REAL(time);
    time_t found = real(NULL) + jump();
    if (now) *now = found;
    return found;
}
