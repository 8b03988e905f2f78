// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/model/relation.h"
#include "sidecar/model/row_image.h"

namespace varve::oracle {

using Field = std::optional<std::string>;
using Row = std::vector<Field>;

// A row of a table: its cells as they travel, each column's output text, and to_jsonb's text.
struct Sample {
  std::vector<Field> values;  // by attnum - 1; none for NULL and for dropped columns
  std::vector<Field> texts;
  std::string json;

  // Borrows from `values`.
  std::vector<model::Cell> Cells(const model::Relation& relation) const;
};

// The PostgreSQL that VARVE_TEST_DSN names, under the settings that values travel with. One connection a
// process; a test that meets an error stops there.
class Server {
 public:
  static Server& Get();

  // The rows in binary format. Fails the test on an error.
  std::vector<Row> Query(const std::string& sql);
  // The first column of the only row; none with the message in `error` when PostgreSQL refuses.
  std::optional<std::string> TryValue(const std::string& sql, const std::vector<std::string>& parameters,
                                      std::string* error);
  void Execute(const std::string& sql) { Query(sql); }

  // Makes an empty temporary table `name` with these columns (SQL); the first is its primary key on request.
  model::Relation MakeTable(const std::string& name, const std::string& columns);
  model::Relation LoadRelation(const std::string& name);
  // Rows in the order of column `id`.
  std::vector<Sample> Fetch(const model::Relation& relation);

 private:
  Server();
  void LoadTypes(model::Relation* relation);

  void* connection_;
};

// The seed of every random value: VARVE_TEST_SEED or one from the clock; printed once.
uint64_t Seed();

std::string Quote(std::string_view text);
std::string QuoteName(std::string_view name);

}  // namespace varve::oracle
