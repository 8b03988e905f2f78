// SPDX-License-Identifier: PostgreSQL
#include "sidecar/model/reference.h"

#include <charconv>

#include <fmt/format.h>

namespace varve::model {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using Base = decltype(Reference::base);

constexpr size_t kNameBytesMax = 200;
constexpr size_t kReferenceBytesMax = 1000;
constexpr uint64_t kBackMax = 1'000'000'000;
constexpr std::string_view kForms =
    "a reference is one of: now, first, lsn:0/16B3748, 0/16B3748, time:2026-11-30T12:00:00Z, "
    "2026-11-30T12:00:00Z, time:now-5m, xid:12345, tag:NAME; each may have ^ or ^3 behind it";

template <typename Integer>
std::optional<Integer> ParseNumber(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

tl::unexpected<base::Error> Bad(std::string_view text, std::string_view why) {
  return Fail(ErrorCode::kInvalidArgument, fmt::format("reference \"{}\": {}", text, why));
}

// Takes the "^", "^3", "^^2" at the end off `text`.
Result<uint32_t> TakeBack(std::string_view* text, std::string_view whole) {
  const size_t caret = text->find('^');
  if (caret == std::string_view::npos) return 0;
  std::string_view steps = text->substr(caret);
  *text = text->substr(0, caret);
  uint64_t back = 0;
  while (!steps.empty()) {
    if (steps.front() != '^')
      return Bad(whole, "after ^ only a number of transactions or another ^ may follow");
    steps.remove_prefix(1);
    const size_t digits = std::min(steps.find('^'), steps.size());
    uint32_t count = 1;
    if (digits > 0) {
      const auto parsed = ParseNumber<uint32_t>(steps.substr(0, digits));
      if (!parsed) return Bad(whole, "after ^ only a number of transactions or another ^ may follow");
      count = *parsed;
    }
    back += count;
    if (back > kBackMax) return Bad(whole, fmt::format("more than {} transactions back", kBackMax));
    steps.remove_prefix(digits);
  }
  return static_cast<uint32_t>(back);
}

std::optional<int64_t> UnitMicros(char unit) {
  switch (unit) {
    case 's': return 1'000'000;
    case 'm': return int64_t{60} * 1'000'000;
    case 'h': return int64_t{3600} * 1'000'000;
    case 'd': return int64_t{86'400} * 1'000'000;
    default: return std::nullopt;
  }
}

Result<Base> ParseTime(std::string_view text, std::string_view whole, base::Timestamp now) {
  if (text == "now") return Base(TimeReference{now});
  if (text.substr(0, 4) == "now-") {
    const std::string_view ago = text.substr(4);
    const auto unit = ago.empty() ? std::nullopt : UnitMicros(ago.back());
    const auto count = ago.empty() ? std::nullopt : ParseNumber<uint32_t>(ago.substr(0, ago.size() - 1));
    if (!unit || !count) return Bad(whole, "write time:now-90s, time:now-5m, time:now-2h or time:now-7d");
    return Base(TimeReference{base::Timestamp{now.micros - *unit * *count}});
  }
  const auto time = base::ParseTimestamp(text);
  if (!time) {
    return Bad(whole, "not an RFC 3339 time such as 2026-11-30T12:00:00Z or 2026-11-30T12:00:00+01:00");
  }
  return Base(TimeReference{*time});
}

Result<Base> ParseLsnForm(std::string_view text, std::string_view whole) {
  LsnReference reference;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    reference.era = ParseNumber<uint8_t>(text.substr(0, colon));
    if (!reference.era) return Bad(whole, "an era is a number from 0 to 255, as in lsn:1:0/16B3748");
    text.remove_prefix(colon + 1);
  }
  const auto lsn = base::ParseLsn(text);
  if (!lsn) return Bad(whole, "not an LSN such as 0/16B3748");
  reference.lsn = *lsn;
  return Base(reference);
}

Result<Base> ParseXid(std::string_view text, std::string_view whole) {
  XidReference reference;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    reference.epoch = ParseNumber<uint32_t>(text.substr(0, colon));
    if (!reference.epoch) return Bad(whole, "an epoch is a number, as in xid:1:12345");
    text.remove_prefix(colon + 1);
  }
  const auto xid = ParseNumber<uint32_t>(text);
  if (!xid) {
    return Bad(whole, "not a transaction id such as xid:12345; a 64-bit one is written xid:EPOCH:NUMBER");
  }
  reference.xid = *xid;
  return Base(reference);
}

Result<Base> ParseNamed(std::string_view kind, std::string_view text, std::string_view whole) {
  if (!IsValidName(text)) {
    return Bad(whole,
               fmt::format("a name begins with a letter or digit and holds letters, digits and ._/- (at most "
                           "{} bytes)",
                           kNameBytesMax));
  }
  if (kind == "tag") return Base(TagReference{std::string(text)});
  return Base(BranchReference{std::string(text)});
}

Result<Base> ParseBase(std::string_view text, std::string_view whole, base::Timestamp now) {
  if (text == "now") return Base(NowReference{});
  if (text == "first") return Base(FirstReference{});
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const std::string_view rest = text.substr(colon + 1);
    if (kind == "lsn") return ParseLsnForm(rest, whole);
    if (kind == "time") return ParseTime(rest, whole, now);
    if (kind == "xid") return ParseXid(rest, whole);
    if (kind == "tag" || kind == "branch") return ParseNamed(kind, rest, whole);
  }
  if (const auto lsn = base::ParseLsn(text)) return Base(LsnReference{std::nullopt, *lsn});
  if (const auto time = base::ParseTimestamp(text)) return Base(TimeReference{*time});
  if (ParseNumber<uint64_t>(text)) {
    return Fail(ErrorCode::kUnknownReference,
                fmt::format("\"{}\" alone says nothing: write xid:{} for a transaction", whole, text));
  }
  if (colon == std::string_view::npos && IsValidName(text)) {
    return Fail(ErrorCode::kUnknownReference,
                fmt::format("\"{}\" is no reference: write tag:{} if it is the name of a tag", whole, text));
  }
  return Fail(ErrorCode::kUnknownReference, fmt::format("\"{}\" is no reference; {}", whole, kForms));
}

}  // namespace

Result<Reference> ParseReference(std::string_view text, base::Timestamp now) {
  if (text.size() > kReferenceBytesMax) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("a reference of {} bytes is too long (at most {})",
                                                         text.size(), kReferenceBytesMax));
  }
  if (text.empty()) return Fail(ErrorCode::kInvalidArgument, fmt::format("an empty reference; {}", kForms));
  Reference reference;
  reference.text = text;
  std::string_view rest = text;
  ASSIGN_OR_RETURN(reference.back, TakeBack(&rest, text));
  ASSIGN_OR_RETURN(reference.base, ParseBase(rest, text, now));
  if (reference.back > 0 && std::holds_alternative<BranchReference>(reference.base)) {
    return Bad(text, "^ steps over transactions of the main line; a branch has none");
  }
  return reference;
}

bool IsValidName(std::string_view name) {
  const auto alphanumeric = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  if (name.empty() || name.size() > kNameBytesMax || !alphanumeric(name.front())) return false;
  for (const char c : name) {
    if (!alphanumeric(c) && c != '.' && c != '_' && c != '/' && c != '-') return false;
  }
  return true;
}

}  // namespace varve::model
