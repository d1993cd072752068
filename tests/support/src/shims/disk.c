/* What would be left of files after a power failure: at each fsync and fdatasync, the file is copied to the folder
 * SHIM_DISK, under its own name. While a file named `lies` is in that folder, nothing is copied: the disk answers that it
 * wrote the data, and did not.
 *
 * Files of SQLite and Redis alone, by the ends of their names. A lock makes copies of one file follow each other, since
 * several processes sync one file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), least = strlen(end);
    return length >= least && strcmp(text + length - least, end) == 0;
}

static int is_kept(const char *name) {
    return ends_with(name, ".db") || ends_with(name, "-wal") || ends_with(name, ".aof");
}

/* Copies the file that `in` is open on to `path`. Returns 0 when all of it was copied. */
static int copy(int in, const char *path) {
    static __thread char buffer[1 << 16];
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t got = in < 0 || out < 0 ? -1 : 0;
    for (off_t at = 0; got >= 0 && (got = pread(in, buffer, sizeof buffer, at)) > 0; at += got) {
        if (write(out, buffer, got) != got) got = -1;
    }
    if (out >= 0) close(out);
    return got == 0 ? 0 : -1;
}

static void keep(int fd) {
    const char *folder = getenv("SHIM_DISK");
    char link[64], real[PATH_MAX], kept[PATH_MAX * 2], fresh[PATH_MAX * 2];
    if (!folder) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, real, sizeof real - 1);
    if (length < 0) return;
    real[length] = 0;
    const char *name = strrchr(real, '/');
    if (!name || !is_kept(++name)) return;
    snprintf(kept, sizeof kept, "%s/lies", folder);
    if (access(kept, F_OK) == 0) return;

    snprintf(kept, sizeof kept, "%s/lock", folder);
    int lock = open(kept, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) abort();
    while (flock(lock, LOCK_EX) != 0) {}
    snprintf(kept, sizeof kept, "%s/%s", folder, name);
    snprintf(fresh, sizeof fresh, "%s/%s.%d", folder, name, (int)getpid());
    /* Redis opens its log for writing alone. A file of SQLite must not be opened a second time: closing that would end the
     * locks that this process holds on it. */
    int in = ends_with(name, ".aof") ? open(link, O_RDONLY | O_CLOEXEC) : fd;
    if (copy(in, fresh) != 0 || rename(fresh, kept) != 0) abort();
    if (in != fd) close(in);
    close(lock);
}

static int sync_with(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int done = real(fd);
    if (done == 0) keep(fd);
    return done;
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }
