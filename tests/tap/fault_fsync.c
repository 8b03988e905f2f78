// SPDX-License-Identifier: PostgreSQL
// Preloaded into varved: a disk that stalls while the file named by VARVE_TEST_STALL exists, and that is full
// while the one named by VARVE_TEST_FULL does. Only syncs are touched: they are where a slow or full disk
// shows.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int exists(const char* variable) {
  const char* path = getenv(variable);
  return path != NULL && access(path, F_OK) == 0;
}

static int faulty_sync(const char* name, int fd) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  while (exists("VARVE_TEST_STALL")) usleep(20 * 1000);
  if (exists("VARVE_TEST_FULL")) {
    errno = ENOSPC;
    return -1;
  }
  return next(fd);
}

int fsync(int fd) { return faulty_sync("fsync", fd); }
int fdatasync(int fd) { return faulty_sync("fdatasync", fd); }
