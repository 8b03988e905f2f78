// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/schema_words.h"

#include <fmt/format.h>

#include "sidecar/history/projection.h"

namespace varve::history {
namespace {

std::string TypeName(const model::Relation& relation, const model::Column& column) {
  const model::Type* type = relation.FindType(column.type_oid);
  const std::string name = type == nullptr ? fmt::format("type {}", column.type_oid) : type->name;
  return column.typmod < 0 ? name : fmt::format("{} (modifier {})", name, column.typmod);
}

std::string KeyNames(const model::Relation& relation) {
  std::string names;
  for (const model::Column* column : relation.KeyColumns()) {
    if (!names.empty()) names += ", ";
    names += column->name;
  }
  return names.empty() ? "none" : names;
}

std::vector<uint16_t> KeyAttnums(const model::Relation& relation) {
  std::vector<uint16_t> attnums;
  for (const model::Column* column : relation.KeyColumns()) attnums.push_back(column->attnum);
  return attnums;
}

std::string FieldNames(const model::Type& type) {
  std::string names;
  for (const model::TypeField& field : type.fields) names += (names.empty() ? "" : ", ") + field.name;
  return names;
}

// Labels of an enum, fields of a composite type.
void DescribeTypes(const model::Relation& before, const model::Relation& after,
                   std::vector<std::string>* words) {
  for (const model::Type& type : after.types) {
    const model::Type* from = before.FindType(type.oid);
    if (from == nullptr || from->fields == type.fields) continue;
    words->push_back(fmt::format("{} of type {} changed from {} to {}",
                                 type.kind == 'e' ? "labels" : "fields", type.name, FieldNames(*from),
                                 FieldNames(type)));
  }
}

// Rows that were written under `before` are refused under `after`.
void DescribeUnreadable(const model::Relation& before, const model::Relation& after,
                        std::vector<std::string>* words) {
  for (const model::Column& column : after.columns) {
    const model::Column* from = before.FindAttnum(column.attnum);
    if (from == nullptr || IsReadable(before, *from, after, column)) continue;
    words->push_back(fmt::format(
        "rows that neither this change nor anything later wrote cannot be shown with what column {} is now: "
        "write them again, or read as of an earlier moment",
        column.name));
  }
}

void DescribeColumn(const model::Relation& before, const model::Column& from, const model::Relation& after,
                    const model::Column& to, std::vector<std::string>* words) {
  if (from.name != to.name) words->push_back(fmt::format("column {} renamed to {}", from.name, to.name));
  if (from.type_oid != to.type_oid || from.typmod != to.typmod) {
    words->push_back(
        fmt::format("column {} changed from {} to {}", to.name, TypeName(before, from), TypeName(after, to)));
  }
  if (from.not_null != to.not_null) {
    words->push_back(fmt::format("column {} {}", to.name, to.not_null ? "set not null" : "may be null now"));
  }
  if (from.default_expression != to.default_expression) {
    words->push_back(to.default_expression.empty()
                         ? fmt::format("column {} has no default any more", to.name)
                         : fmt::format("column {} has the default {}", to.name, to.default_expression));
  }
  if (from.generated != to.generated) {
    words->push_back(fmt::format("column {} {}", to.name,
                                 to.generated != 0 ? "is generated now" : "is no longer generated"));
  }
}

}  // namespace

std::vector<std::string> DescribeSchemaChange(const model::Relation& before, const model::Relation& after) {
  std::vector<std::string> words;
  if (before.QualifiedName() != after.QualifiedName()) {
    words.push_back(fmt::format("table {} renamed to {}", before.QualifiedName(), after.QualifiedName()));
  }
  for (const model::Column& column : before.columns) {
    const model::Column* now = after.FindAttnum(column.attnum);
    if (now == nullptr) {
      words.push_back(fmt::format("column {} dropped", column.name));
    } else {
      DescribeColumn(before, column, after, *now, &words);
    }
  }
  for (const model::Column& column : after.columns) {
    if (before.FindAttnum(column.attnum) == nullptr) {
      words.push_back(fmt::format("column {} {} added", column.name, TypeName(after, column)));
    }
  }
  if (KeyAttnums(before) != KeyAttnums(after)) {
    words.push_back(fmt::format("key changed from {} to {}", KeyNames(before), KeyNames(after)));
  }
  if (before.identity != after.identity) {
    words.push_back(fmt::format("replica identity changed from {} to {}", before.identity, after.identity));
  }
  DescribeTypes(before, after, &words);
  DescribeUnreadable(before, after, &words);
  if (words.empty() && before.version != after.version) words.push_back("definition changed");
  return words;
}

}  // namespace varve::history
