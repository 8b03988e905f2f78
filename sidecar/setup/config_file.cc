// SPDX-License-Identifier: PostgreSQL
#include "sidecar/setup/config_file.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace varve::setup {
namespace {

// It may hold a password: only its owner reads it, and where root writes it, the group that varved runs in.
void LetServerGroupRead(int fd) {
  const group* entry = geteuid() == 0 ? getgrnam("postgres") : nullptr;
  if (entry != nullptr && fchown(fd, 0, entry->gr_gid) == 0) (void)fchmod(fd, 0640);
}

}  // namespace

ConfigFile::~ConfigFile() {
  if (!beside_.empty()) unlink(beside_.c_str());
}

std::optional<std::string> ConfigFile::Read() const {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

tl::unexpected<base::Error> ConfigFile::Failed(int error) const {
  const std::string directory = std::filesystem::path(path_).parent_path().string();
  return base::Fail(
      base::ErrorCode::kForbidden,
      fmt::format(
          "config file {} cannot be written: {}; remedy: as root, install -d -o {} {}, or give another "
          "path with --config",
          path_, std::strerror(error), "postgres", directory));
}

base::Status ConfigFile::Prepare(const std::string& text) {
  std::error_code ignored;  // mkstemp says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  if (std::filesystem::is_directory(path_, ignored)) return Failed(EISDIR);
  std::string beside = path_ + ".XXXXXX";
  const int fd = mkstemp(beside.data());
  if (fd < 0) return Failed(errno);
  beside_ = std::move(beside);
  LetServerGroupRead(fd);
  size_t written = 0;
  int error = 0;
  while (written < text.size() && error == 0) {
    const ssize_t bytes = write(fd, text.data() + written, text.size() - written);
    if (bytes < 0 && errno != EINTR) error = errno;
    if (bytes > 0) written += static_cast<size_t>(bytes);
  }
  if (error == 0 && fsync(fd) != 0) error = errno;
  close(fd);
  if (error != 0) return Failed(error);
  return {};
}

base::Status ConfigFile::Put() {
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) return Failed(errno);
  beside_.clear();
  return {};
}

}  // namespace varve::setup
