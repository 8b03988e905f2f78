// SPDX-License-Identifier: PostgreSQL
// Preloaded into varved: messages of the bus are lost while the file named by VARVE_TEST_LOSE exists, and the
// file of a socket that is made to listen is gone at once while the one named by VARVE_TEST_HIDE does.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int exists(const char* variable) {
  const char* path = getenv(variable);
  return path != NULL && access(path, F_OK) == 0;
}

int zmq_msg_recv(void* message, void* socket, int flags) {
  int (*next)(void*, void*, int) = (int (*)(void*, void*, int))dlsym(RTLD_NEXT, "zmq_msg_recv");
  int length = next(message, socket, flags);
  while (length >= 0 && exists("VARVE_TEST_LOSE")) length = next(message, socket, flags);
  return length;
}

int listen(int fd, int backlog) {
  int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
  struct sockaddr_un address;
  socklen_t size = sizeof(address);
  memset(&address, 0, sizeof(address));
  if (exists("VARVE_TEST_HIDE") && getsockname(fd, (struct sockaddr*)&address, &size) == 0 &&
      address.sun_family == AF_UNIX) {
    unlink(address.sun_path);
  }
  return next(fd, backlog);
}
