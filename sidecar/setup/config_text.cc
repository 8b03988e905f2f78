// SPDX-License-Identifier: PostgreSQL
#include <fmt/format.h>

#include "sidecar/setup/setup.h"

namespace varve::setup {
namespace {

// A TOML basic string.
std::string TomlString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted.push_back('\\');
      quoted.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

}  // namespace

std::string ConfigText(const InitOptions& options) {
  std::string text = fmt::format(
      "# Written by varve init. Every setting can be overridden by VARVE_<SECTION>_<KEY> in the "
      "environment.\n"
      "[source]\n"
      "dsn = {}\n"
      "publication = {}\n"
      "slot = {}\n",
      TomlString(options.server.dsn), TomlString(options.server.publication),
      TomlString(options.server.slot));
  if (options.server.allow_synchronous) text += "allow_synchronous = true\n";
  text += fmt::format("\n[store]\ndata_dir = {}\n", TomlString(options.server.data_dir));
  text += fmt::format("\n[http]\nsocket = {}\n", TomlString(options.http_socket));
  return text;
}

}  // namespace varve::setup
