// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sidecar/base/result.h"
#include "sidecar/model/relation.h"
#include "sidecar/model/row_image.h"

namespace varve::history {

// Whether what `from` has in column `source` can be shown as what `to` has in `column`.
bool IsReadable(const model::Relation& from, const model::Column& source, const model::Relation& to,
                const model::Column& column);

// How cells of one relation version are shown under another of the same table: by attnum, never by name or
// place. Keeps both versions alive. Const methods are thread-safe.
class Projection {
 public:
  // The first version that had the attnum; nullptr when there is none.
  using FirstWith = std::function<std::shared_ptr<const model::Relation>(uint16_t attnum)>;

  // Errors: kSchemaChanged naming the column whose type, or what its type is made of, changed so that old
  // values cannot be shown.
  static base::Result<std::shared_ptr<const Projection>> Make(std::shared_ptr<const model::Relation> from,
                                                              std::shared_ptr<const model::Relation> to,
                                                              const FirstWith& first_with);

  // `to` with the columns that Make refuses as they were in `from`: what a row written then has under it.
  static std::shared_ptr<const model::Relation> AsWritten(const model::Relation& from,
                                                          const model::Relation& to,
                                                          const FirstWith& first_with);

  const model::Relation& from() const { return *from_; }
  const model::Relation& to() const { return *to_; }
  // `out` borrows from `in`'s values and from this projection.
  void Apply(const std::vector<model::Cell>& in, std::vector<model::Cell>* out) const;
  // Decodes an image of `from` and shows it under `to`. Borrows from the image and from this projection.
  base::Status Decode(std::string_view image, std::vector<model::Cell>* cells) const;

 private:
  struct Step {
    enum class Source : uint8_t { kCell, kMissing, kNull, kAbsent };
    uint16_t attnum = 0;
    Source source = Source::kAbsent;
    std::string missing;
  };

  std::shared_ptr<const model::Relation> from_;
  std::shared_ptr<const model::Relation> to_;
  bool same_ = false;
  std::vector<Step> steps_;
};

}  // namespace varve::history
