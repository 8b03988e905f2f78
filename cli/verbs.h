// SPDX-License-Identifier: PostgreSQL
#pragma once

#include "cli/command_line.h"
#include "cli/session.h"

namespace varve::cli {

// Each runs a verb and gives its exit status.
int Run(const StatusVerb& verb, Session* session);
int Run(const TablesVerb& verb, Session* session);
int Run(const WaitVerb& verb, Session* session);
int Run(const LogVerb& verb, Session* session);
int Run(const ShowVerb& verb, Session* session);
int Run(const DiffVerb& verb, Session* session);
int Run(const GetVerb& verb, Session* session);
int Run(const ScanVerb& verb, Session* session);
int Run(const HistoryVerb& verb, Session* session);
int Run(const TagCreateVerb& verb, Session* session);
int Run(const TagListVerb& verb, Session* session);
int Run(const TagDeleteVerb& verb, Session* session);
int Run(const InitVerb& verb, Session* session);
int Run(const DoctorVerb& verb, Session* session);
int Run(const DetachVerb& verb, Session* session);

// Runs whatever verb it is.
int RunCommand(const CommandLine& command, Output* output);

}  // namespace varve::cli
