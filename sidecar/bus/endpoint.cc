// SPDX-License-Identifier: PostgreSQL
#include "sidecar/bus/endpoint.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace varve::bus {
namespace {

using base::ErrorCode;
using base::Fail;

constexpr std::string_view kScheme = "ipc://";
constexpr size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

std::string NameOf(uid_t user) {
  const passwd* entry = getpwuid(user);
  return entry != nullptr ? entry->pw_name : fmt::format("{}", user);
}

std::string GroupName(gid_t group_id) {
  const group* entry = getgrgid(group_id);
  return entry != nullptr ? entry->gr_name : fmt::format("{}", group_id);
}

bool IsMember(uid_t user, gid_t group_id) {
  const passwd* entry = getpwuid(user);
  if (entry == nullptr) return false;
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  if (getgrouplist(entry->pw_name, entry->pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<size_t>(count));
    (void)getgrouplist(entry->pw_name, entry->pw_gid, groups.data(), &count);
  }
  groups.resize(static_cast<size_t>(std::max(count, 0)));
  return std::find(groups.begin(), groups.end(), group_id) != groups.end();
}

// `bit`: S_IXOTH or S_IWOTH.
bool Allows(const struct stat& entry, uid_t user, mode_t bit) {
  if (user == 0) return true;
  if (entry.st_uid == user) return (entry.st_mode & (bit << 6)) != 0;
  if (IsMember(user, entry.st_gid)) return (entry.st_mode & (bit << 3)) != 0;
  return (entry.st_mode & bit) != 0;
}

}  // namespace

base::Status CheckEndpoint(std::string_view endpoint) {
  if (endpoint.substr(0, kScheme.size()) != kScheme || endpoint.size() <= kScheme.size() + 1 ||
      endpoint[kScheme.size()] != '/' || endpoint.back() == '/') {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("an endpoint is ipc:// and an absolute path, as ipc:///run/varve/main/ingest.sock, "
                    "not \"{}\"",
                    endpoint));
  }
  const size_t bytes = endpoint.size() - kScheme.size();
  if (bytes > kPathBytesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the path has {} bytes, at most {} are possible", bytes, kPathBytesMax));
  }
  return {};
}

std::string PathOf(std::string_view endpoint) { return std::string(endpoint.substr(kScheme.size())); }

std::string DefaultEndpoint(std::string_view http_socket) {
  const size_t slash = http_socket.rfind('/');
  if (slash == std::string_view::npos) return "";
  std::string endpoint = fmt::format("{}{}/ingest.sock", kScheme, http_socket.substr(0, slash));
  return CheckEndpoint(endpoint) ? endpoint : "";
}

std::string ExpandEndpoint(std::string_view setting, uint32_t database_oid) {
  std::string endpoint;
  for (size_t i = 0; i < setting.size(); ++i) {
    const bool escaped = setting[i] == '%' && i + 1 < setting.size();
    if (escaped && setting[i + 1] == 'd') {
      endpoint += fmt::format("{}", database_oid);
      ++i;
    } else {
      endpoint.push_back(setting[i]);
      if (escaped && setting[i + 1] == '%') ++i;
    }
  }
  return endpoint;
}

std::string SettingFor(std::string_view endpoint) {
  std::string setting;
  for (const char c : endpoint) setting.append(c == '%' ? 2 : 1, c);
  return setting;
}

std::optional<Fault> FaultOfSetting(std::string_view endpoint, std::string_view setting,
                                    uint32_t database_oid, bool shares_machine) {
  if (!shares_machine) return Fault{"the server is on another machine", ""};
  if (endpoint.empty()) {
    return Fault{"there is no endpoint: beside [http] socket its path would be too long",
                 "name one in [ingest] endpoint"};
  }
  const std::string line = fmt::format(
      "in postgresql.conf: varve.ingest_endpoint = '{}', then select "
      "pg_reload_conf();",
      SettingFor(endpoint));
  if (setting.empty()) return Fault{"the server's setting varve.ingest_endpoint is empty", line};
  const std::string expanded = ExpandEndpoint(setting, database_oid);
  if (expanded == endpoint) return std::nullopt;
  return Fault{
      fmt::format("the server's setting varve.ingest_endpoint leads to {}, varved takes changes at {}",
                  expanded, endpoint),
      line + " or the server's endpoint in [ingest] endpoint"};
}

std::optional<Fault> FaultOfDirectory(const std::string& directory) {
  struct stat entry {};
  if (stat(directory.c_str(), &entry) != 0) {
    return Fault{fmt::format("directory {}: {}", directory, std::strerror(errno)),
                 fmt::format("install -d -m 0750 -o postgres -g postgres {}, with the user that runs varved",
                             directory)};
  }
  if (!S_ISDIR(entry.st_mode)) return Fault{directory + " is not a directory", "name another path"};
  if ((entry.st_mode & S_IRWXO) != 0) {
    return Fault{
        fmt::format("directory {} has mode {:04o}: who may enter it could send changes as the server",
                    directory, entry.st_mode & 07777),
        fmt::format("chmod o= {}", directory)};
  }
  return std::nullopt;
}

std::optional<Fault> FaultForUser(const std::string& path, uid_t user) {
  const std::string directory = path.substr(0, path.rfind('/'));
  struct stat entry {};
  if (stat(directory.c_str(), &entry) == 0 && !Allows(entry, user, S_IXOTH)) {
    return Fault{
        fmt::format("the server's user {} may not enter {}", NameOf(user), directory),
        fmt::format("chgrp {} {} && chmod 0750 {}, and make the user that runs varved a member of the "
                    "group",
                    NameOf(user), directory, directory)};
  }
  if (stat(path.c_str(), &entry) == 0 && !Allows(entry, user, S_IWOTH)) {
    return Fault{fmt::format("the server's user {} may not connect to {}, which is of user {} and group {}",
                             NameOf(user), path, NameOf(entry.st_uid), GroupName(entry.st_gid)),
                 fmt::format("give {} a group that both users are in, and start varved again", directory)};
  }
  return std::nullopt;
}

}  // namespace varve::bus
