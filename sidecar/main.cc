// SPDX-License-Identifier: PostgreSQL
// START HERE: opens the parts bottom-up, runs until a signal, stops top-down.
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>

#include "sidecar/base/clock.h"
#include "sidecar/base/log.h"
#include "sidecar/config/config.h"
#include "sidecar/http/server.h"
#include "sidecar/supervisor.h"

namespace varve {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

base::Status RunDaemon(const config::Config& config) {
  const base::Clock* clock = base::Clock::System();
  ASSIGN_OR_RETURN(auto supervisor, Supervisor::Open({config.history, config.ingest}, clock));
  ASSIGN_OR_RETURN(auto server, http::Server::Start(
                                    config.http, [&supervisor] { return supervisor->History(); },
                                    supervisor.get(), clock));
  base::LogInfo("varved " VARVE_VERSION " serves {} from {}", config.http.socket, config.history.data_dir);
  std::thread waiter([&supervisor] {
    const sigset_t signals = StopSignals();
    int signal = 0;
    sigwait(&signals, &signal);
    base::LogInfo("stopping on {}", signal == SIGINT ? "SIGINT" : "SIGTERM");
    supervisor->RequestStop();
  });
  supervisor->Run();
  waiter.join();
  server->Stop();
  return {};
}

int Main(int argc, char** argv) {
  CLI::App app{
      "varved keeps the version history of one PostgreSQL database and serves it over HTTP.\n"
      "`varve init` writes its config file; `varve doctor` says what is wrong."};
  std::string path;
  bool check = false;
  app.add_option("--config", path, "config file (default: $VARVE_CONFIG, else /etc/varve/varve.toml)");
  app.add_flag("--check-config", check, "read the config file, say what is wrong with it, and exit");
  app.set_version_flag("--version", "varved " VARVE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  // The store is the rows of every table: nobody else reads it. The socket has a mode of its own.
  umask(0077);
  const auto config = config::Load(path, config::ProcessEnvironment(), config::Files::kCheck);
  if (!config) {
    std::fprintf(stderr, "varved: %s\n", config.error().message.c_str());
    return kExitUsage;
  }
  if (check) {
    std::printf("%s is in order\n", config->path.empty() ? "the environment" : config->path.c_str());
    return 0;
  }
  base::SetLogLevel(config->log_level);

  // Every thread inherits the mask, so that only the waiter sees these signals.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const base::Status run = RunDaemon(*config);
  if (!run) {
    base::LogError("{}", run.error().message);
    return kExitFailed;
  }
  return 0;
}

}  // namespace
}  // namespace varve

int main(int argc, char** argv) { return varve::Main(argc, argv); }
