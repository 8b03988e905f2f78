// SPDX-License-Identifier: PostgreSQL
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace varve::base {

// The one enumeration of error codes for HTTP, the command line and SQL.
enum class ErrorCode : uint8_t {
  kInvalidArgument,
  kUnauthorized,
  kForbidden,
  kNotTracked,
  kNotFound,
  kUnknownReference,
  kBeforeHistory,
  kHistoryGap,
  kInTheFuture,
  kBehind,
  kExists,
  kConflict,
  kStale,
  kSchemaChanged,
  kConstraint,
  kTooLarge,
  kUnavailable,
  kStoreFull,
  kInternal,
};

// The code as it is spelled in every interface, e.g. "before_history".
std::string_view ErrorCodeName(ErrorCode code);

// What went wrong, in words for the person who has to act: names the thing and the remedy.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

[[nodiscard]] inline tl::unexpected<Error> Fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace varve::base

#define VARVE_CONCAT_INNER(a, b) a##b
#define VARVE_CONCAT(a, b) VARVE_CONCAT_INNER(a, b)

// Returns the error of a Result from the enclosing function.
#define RETURN_IF_ERROR(expression)                                \
  do {                                                             \
    auto&& varve_status = (expression);                            \
    if (!varve_status) {                                           \
      return ::varve::base::Fail(std::move(varve_status).error()); \
    }                                                              \
  } while (false)

#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_INNER(VARVE_CONCAT(varve_result_, __LINE__), declaration, expression)

#define ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                   \
  if (!result) {                                                \
    return ::varve::base::Fail(std::move(result).error());      \
  }                                                             \
  declaration = std::move(result).value()
