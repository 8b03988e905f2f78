// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sidecar/base/result.h"

namespace varve::pg {

// A field of a tuple; `value` borrows from the reader.
struct CopyField {
  bool is_null = true;
  std::string_view value;
};

// Reads what COPY … TO STDOUT (FORMAT binary) sends (PostgreSQL manual, COPY, "Binary Format"), cut into
// pieces anywhere. Trusts no length: it never allocates more than what has arrived. One thread at a time.
// Errors are kInvalidArgument naming what is malformed; after one the reader is of no more use.
class CopyBinaryReader {
 public:
  enum class State { kTuple, kNeedMore, kEnd };

  // `field_count`: of every tuple.
  explicit CopyBinaryReader(size_t field_count) : fields_(field_count) {}

  // Adds bytes; invalidates the fields.
  void Feed(std::string_view bytes);
  // Reads on: a tuple is in fields(), or more bytes are needed, or the trailer was read.
  base::Result<State> Next();
  // To be called when no more bytes come. An error unless the trailer was the last that was read.
  base::Status Finish() const;

  const std::vector<CopyField>& fields() const { return fields_; }

 private:
  base::Result<State> ReadHeader();
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  std::string buffer_;
  size_t at_ = 0;  // read up to here
  bool header_read_ = false;
  bool ended_ = false;
  std::vector<CopyField> fields_;
};

}  // namespace varve::pg
