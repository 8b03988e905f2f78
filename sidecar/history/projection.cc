// SPDX-License-Identifier: PostgreSQL
#include "sidecar/history/projection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sidecar/types/key.h"

namespace varve::history {
namespace {

constexpr char kVirtual = 'v';

std::string TypeName(const model::Relation& relation, const model::Column& column) {
  const model::Type* type = relation.FindType(column.type_oid);
  return type == nullptr ? fmt::format("type {}", column.type_oid) : type->name;
}

base::Status CheckReadable(const model::Relation& from, const model::Relation& to,
                           const model::Column& column) {
  const model::Column& source = *from.FindAttnum(column.attnum);
  if (IsReadable(from, source, to, column)) return {};
  const std::string before = TypeName(from, source);
  const std::string after = TypeName(to, column);
  return base::Fail(
      base::ErrorCode::kSchemaChanged,
      fmt::format("column {} of {} changed {}; rows written before that cannot be shown after it: read as of "
                  "a moment before the change",
                  column.name, to.QualifiedName(),
                  source.type_oid == column.type_oid && source.typmod == column.typmod
                      ? fmt::format("what its type {} is made of", after)
                      : fmt::format("its type from {} to {}", before, after)));
}

}  // namespace

bool IsReadable(const model::Relation& from, const model::Column& source, const model::Relation& to,
                const model::Column& column) {
  return types::SameRepresentation(source, column) &&
         (source.base_type_oid != column.base_type_oid || model::ReadsAlike(from, to, column.base_type_oid));
}

base::Result<std::shared_ptr<const Projection>> Projection::Make(std::shared_ptr<const model::Relation> from,
                                                                 std::shared_ptr<const model::Relation> to,
                                                                 const FirstWith& first_with) {
  auto projection = std::make_shared<Projection>();
  projection->same_ = from->version == to->version;
  for (const model::Column& column : to->columns) {
    Step step;
    step.attnum = column.attnum;
    std::shared_ptr<const model::Relation> origin = from;
    if (from->FindAttnum(column.attnum) != nullptr) {
      step.source = Step::Source::kCell;
    } else {
      origin = first_with(column.attnum);
      const model::Column* first = origin == nullptr ? nullptr : origin->FindAttnum(column.attnum);
      step.source = first == nullptr || !first->missing ? Step::Source::kNull : Step::Source::kMissing;
      if (step.source == Step::Source::kMissing) step.missing = *first->missing;
      if (column.generated == kVirtual) step.source = Step::Source::kAbsent;
    }
    if (step.source != Step::Source::kNull && step.source != Step::Source::kAbsent) {
      RETURN_IF_ERROR(CheckReadable(*origin, *to, column));
    }
    projection->steps_.push_back(std::move(step));
  }
  projection->from_ = std::move(from);
  projection->to_ = std::move(to);
  return std::shared_ptr<const Projection>(std::move(projection));
}

std::shared_ptr<const model::Relation> Projection::AsWritten(const model::Relation& from,
                                                             const model::Relation& to,
                                                             const FirstWith& first_with) {
  auto mixed = std::make_shared<model::Relation>(to);
  mixed->version = {};
  for (model::Column& column : mixed->columns) {
    const model::Relation* origin = &from;
    std::shared_ptr<const model::Relation> first;
    if (from.FindAttnum(column.attnum) == nullptr) {
      first = first_with(column.attnum);
      origin = first.get();
    }
    const model::Column* source = origin == nullptr ? nullptr : origin->FindAttnum(column.attnum);
    if (source == nullptr || IsReadable(*origin, *source, to, column)) continue;
    column.type_oid = source->type_oid;
    column.base_type_oid = source->base_type_oid;
    column.typmod = source->typmod;
    column.form = source->form;
    column.width = source->width;
    for (const model::Type& type : origin->types) {
      if (mixed->FindType(type.oid) == nullptr) mixed->types.push_back(type);
    }
  }
  return mixed;
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
