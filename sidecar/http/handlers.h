// SPDX-License-Identifier: PostgreSQL
#pragma once

#include "sidecar/http/context.h"

namespace varve::http {

// Handlers of the route table; what each answers is in openapi.json. Thread-safe.

base::Status GetHealth(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetReady(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetMetrics(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetOpenApi(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetServerStatus(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetTables(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetWait(const Context& context, const Request& request, ResponseWriter* writer);

base::Status GetRows(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetRow(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetRowHistory(const Context& context, const Request& request, ResponseWriter* writer);

base::Status GetTransactions(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetOneTransaction(const Context& context, const Request& request, ResponseWriter* writer);
base::Status GetDiff(const Context& context, const Request& request, ResponseWriter* writer);

base::Status GetTags(const Context& context, const Request& request, ResponseWriter* writer);
base::Status PostTag(const Context& context, const Request& request, ResponseWriter* writer);
base::Status DeleteTag(const Context& context, const Request& request, ResponseWriter* writer);

}  // namespace varve::http
