// SPDX-License-Identifier: PostgreSQL
#include "sidecar/base/log.h"

#include <memory>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace varve::base {
namespace {

spdlog::logger* Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("varved", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l: %v",
                                                                    spdlog::pattern_time_type::utc));
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return logger.get();
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

Result<LogLevel> ParseLogLevel(std::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warning") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("log level \"{}\" is none of debug, info, warning, error", text));
}

void SetLogLevel(LogLevel level) { Logger()->set_level(ToSpdlog(level)); }

bool LogEnabled(LogLevel level) { return Logger()->should_log(ToSpdlog(level)); }

void LogLine(LogLevel level, std::string_view text) { Logger()->log(ToSpdlog(level), "{}", text); }

}  // namespace varve::base
