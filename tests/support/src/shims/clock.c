/* A wall clock that is wrong by the number of seconds in the file SHIM_CLOCK: eight bytes, mapped, so that it can be set
 * while the program runs. The monotonic clock is right. It makes the system's calls itself: to ask for the next function
 * of the same name would need memory, whose allocator may ask for the time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("SHIM_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *mapped = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) offset = mapped;
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *time) {
    int done = (int)syscall(SYS_clock_gettime, id, time);
    if (done == 0 && offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) time->tv_sec += *offset;
    return done;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
