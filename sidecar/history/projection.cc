// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/projection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sidecar/types/key.h"

namespace varve::history {
namespace {

constexpr char kVirtual = 'v';
constexpr int kTypeDepthMax = 64;

std::string TypeName(const model::Relation& relation, const model::Column& column) {
  const model::Type* type = relation.FindType(column.type_oid);
  return type == nullptr ? fmt::format("type {}", column.type_oid) : type->name;
}

// Whether a stored text of the type reads the same under both descriptions. `depth` bounds forged cycles.
bool SameFields(const model::Relation& from, const model::Relation& to, uint32_t type_oid, int depth) {
  const model::Type* before = from.FindType(type_oid);
  const model::Type* after = to.FindType(type_oid);
  if (before == nullptr || after == nullptr) return before == after;
  if (depth == 0 || before->kind != after->kind || before->inner_oid != after->inner_oid ||
      before->fields != after->fields) {
    return false;
  }
  if (before->inner_oid != 0 && !SameFields(from, to, before->inner_oid, depth - 1)) return false;
  return std::all_of(before->fields.begin(), before->fields.end(), [&](const model::TypeField& field) {
    return SameFields(from, to, field.type_oid, depth - 1);
  });
}

bool MayShow(const model::Column& from, const model::Column& to) {
  return from.form == to.form && from.width == to.width && types::SameRepresentation(from, to);
}

}  // namespace

base::Result<std::shared_ptr<const Projection>> Projection::Make(std::shared_ptr<const model::Relation> from,
                                                                 std::shared_ptr<const model::Relation> to,
                                                                 const FirstColumn& first_column) {
  auto projection = std::make_shared<Projection>();
  projection->same_ = from->version == to->version;
  for (const model::Column& column : to->columns) {
    Step step;
    step.attnum = column.attnum;
    const model::Column* source = from->FindAttnum(column.attnum);
    if (source == nullptr) {
      const model::Column* first = first_column(column.attnum);
      source = first != nullptr && first->missing ? first : nullptr;
      step.source = source == nullptr ? Step::Source::kNull : Step::Source::kMissing;
      if (source != nullptr) step.missing = *source->missing;
      if (column.generated == kVirtual) step.source = Step::Source::kAbsent;
    } else {
      step.source = Step::Source::kCell;
    }
    const bool text_of_another_shape = step.source == Step::Source::kCell &&
                                       column.form == model::Form::kText &&
                                       source->type_oid == column.type_oid && !projection->same_ &&
                                       !SameFields(*from, *to, column.type_oid, kTypeDepthMax);
    if (source != nullptr && (text_of_another_shape || !MayShow(*source, column))) {
      return base::Fail(
          base::ErrorCode::kSchemaChanged,
          fmt::format("column {} of {} changed its type from {} to {}; rows written before that "
                      "cannot be shown after it: read as of a moment before the change",
                      column.name, to->QualifiedName(), TypeName(*from, *source), TypeName(*to, column)));
    }
    projection->steps_.push_back(std::move(step));
  }
  projection->from_ = std::move(from);
  projection->to_ = std::move(to);
  return std::shared_ptr<const Projection>(std::move(projection));
}

void Projection::Apply(const std::vector<model::Cell>& in, std::vector<model::Cell>* out) const {
  out->assign(to_->attribute_count, model::Cell{});
  for (const Step& step : steps_) {
    model::Cell& cell = (*out)[step.attnum - 1];
    switch (step.source) {
      case Step::Source::kCell: cell = in[step.attnum - 1]; break;
      case Step::Source::kMissing: cell = model::Cell{model::CellKind::kValue, step.missing}; break;
      case Step::Source::kNull: cell.kind = model::CellKind::kNull; break;
      case Step::Source::kAbsent: break;
    }
  }
}

base::Status Projection::Decode(std::string_view image, std::vector<model::Cell>* cells) const {
  if (same_) return model::DecodeImageInto(*from_, image, cells);
  std::vector<model::Cell> stored;
  RETURN_IF_ERROR(model::DecodeImageInto(*from_, image, &stored));
  Apply(stored, cells);
  return {};
}

}  // namespace varve::history
