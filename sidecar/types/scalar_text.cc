// SPDX-License-Identifier: PostgreSQL
#include <array>
#include <bit>
#include <charconv>

#include "sidecar/types/array.h"
#include "sidecar/types/bytes.h"
#include "sidecar/types/floats.h"
#include "sidecar/types/json_text.h"
#include "sidecar/types/numeric.h"
#include "sidecar/types/oids.h"
#include "sidecar/types/scalar.h"

namespace varve::types {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr char kJsonbVersion = 1;

template <typename Integer>
void AppendInteger(Integer value, std::string* out) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value);
  out->append(text.data(), static_cast<size_t>(end.ptr - text.begin()));
}

void AppendHex(std::string_view bytes, std::string* out) {
  for (const char byte : bytes) {
    out->push_back(kHex[static_cast<uint8_t>(byte) >> 4]);
    out->push_back(kHex[static_cast<uint8_t>(byte) & 15]);
  }
}

void AppendUuid(std::string_view bytes, std::string* out) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out->push_back('-');
    AppendHex(bytes.substr(i, 1), out);
  }
}

// charout: nothing for 0, and octal digits for bytes that are no character of their own.
void AppendChar(char value, std::string* out) {
  const auto byte = static_cast<uint8_t>(value);
  if (byte >= 0x80) {
    out->push_back('\\');
    for (const int shift : {6, 3, 0}) out->push_back(static_cast<char>('0' + ((byte >> shift) & 7)));
  } else if (byte != 0) {
    out->push_back(value);
  }
}

base::Status AppendNumeric(std::string_view bytes, std::string* out) {
  Numeric numeric;
  RETURN_IF_ERROR(DecodeNumeric(bytes, &numeric));
  return AppendNumericText(numeric, out);
}

base::Status AppendArrayText(uint32_t element_oid, std::string_view bytes, std::string* out) {
  ArrayValue array;
  RETURN_IF_ERROR(DecodeArray(bytes, &array));
  if (!array.elements.empty()) AppendArrayBounds(array.shape, out);
  std::string text;
  const auto append = [&](const std::optional<std::string_view>& element, std::string* to) -> base::Status {
    if (!element) {
      to->append("NULL");
      return {};
    }
    text.clear();
    RETURN_IF_ERROR(AppendBinaryText(element_oid, *element, &text));
    AppendArrayElement(text, to);
    return {};
  };
  return AppendNested(array, "{}", ",", append, out);
}

base::Status AppendArrayJson(uint32_t element_oid, std::string_view bytes, std::string* out) {
  ArrayValue array;
  RETURN_IF_ERROR(DecodeArray(bytes, &array));
  const auto append = [&](const std::optional<std::string_view>& element, std::string* to) -> base::Status {
    if (element) return AppendBinaryJson(element_oid, *element, to);
    to->append("null");
    return {};
  };
  return AppendNested(array, "[]", ", ", append, out);
}

// A number by its text, a string where it is no JSON number (NaN, Infinity).
base::Status AppendNumberOrString(std::string_view text, std::string* out) {
  if (text.find_first_of("Nn") != std::string_view::npos) {
    AppendJsonString(text, out);
    return {};
  }
  return AppendNumberJson(text, out);
}

}  // namespace

Timetz ReadTimetz(std::string_view bytes) {
  return Timetz{ReadBig<int64_t>(bytes.data()), ReadBig<int32_t>(bytes.data() + 8)};
}

Interval ReadInterval(std::string_view bytes) {
  return Interval{ReadBig<int64_t>(bytes.data()), ReadBig<int32_t>(bytes.data() + 8),
                  ReadBig<int32_t>(bytes.data() + 12)};
}

base::Status CheckWidth(uint32_t oid, std::string_view bytes) {
  const BinaryType* type = FindBinaryType(oid);
  if (type == nullptr || type->width == 0 || type->width == bytes.size()) return {};
  return BadValue("a " + std::string(type->name) + " has " + std::to_string(type->width) + " bytes, not " +
                  std::to_string(bytes.size()));
}

base::Result<std::string_view> JsonbText(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != kJsonbVersion) return BadValue("unknown version of jsonb");
  return bytes.substr(1);
}

base::Status AppendBinaryText(uint32_t oid, std::string_view bytes, std::string* out) {
  RETURN_IF_ERROR(CheckWidth(oid, bytes));
  const char* data = bytes.data();
  switch (oid) {
    case kBoolOid: out->push_back(*data != 0 ? 't' : 'f'); return {};
    case kCharOid: AppendChar(*data, out); return {};
    case kInt2Oid: AppendInteger(ReadBig<int16_t>(data), out); return {};
    case kInt4Oid: AppendInteger(ReadBig<int32_t>(data), out); return {};
    case kInt8Oid: AppendInteger(ReadBig<int64_t>(data), out); return {};
    case kOidOid: AppendInteger(ReadBig<uint32_t>(data), out); return {};
    case kFloat4Oid: AppendFloatText(std::bit_cast<float>(ReadBig<uint32_t>(data)), out); return {};
    case kFloat8Oid: AppendFloatText(std::bit_cast<double>(ReadBig<uint64_t>(data)), out); return {};
    case kNumericOid: return AppendNumeric(bytes, out);
    case kDateOid: return AppendDate(ReadBig<int32_t>(data), out);
    case kTimeOid: return AppendTime(ReadBig<int64_t>(data), out);
    case kTimestampOid: return AppendTimestamp(ReadBig<int64_t>(data), DateForm::kText, out);
    case kTimestamptzOid: return AppendTimestamptz(ReadBig<int64_t>(data), DateForm::kText, out);
    case kTimetzOid: return AppendTimetz(ReadTimetz(bytes), out);
    case kIntervalOid: return AppendInterval(ReadInterval(bytes), out);
    case kUuidOid: AppendUuid(bytes, out); return {};
    case kByteaOid: AppendHex(bytes, &out->append("\\x")); return {};
    case kJsonbOid: {
      ASSIGN_OR_RETURN(const std::string_view text, JsonbText(bytes));
      out->append(text);
      return {};
    }
    default: break;
  }
  if (const BinaryType* element = FindElementOfArray(oid)) return AppendArrayText(element->oid, bytes, out);
  out->append(bytes);  // text, varchar, bpchar, name, json
  return {};
}

base::Status AppendBinaryJson(uint32_t oid, std::string_view bytes, std::string* out) {
  std::string text;
  switch (oid) {
    case kBoolOid:
      RETURN_IF_ERROR(CheckWidth(oid, bytes));
      out->append(bytes.front() != 0 ? "true" : "false");
      return {};
    case kInt2Oid:
    case kInt4Oid:
    case kInt8Oid:
    case kJsonbOid: return AppendBinaryText(oid, bytes, out);
    case kFloat4Oid:
    case kFloat8Oid:
      RETURN_IF_ERROR(AppendBinaryText(oid, bytes, &text));
      return AppendNumberOrString(text, out);
    case kNumericOid: {
      Numeric numeric;
      RETURN_IF_ERROR(DecodeNumeric(bytes, &numeric));
      if (numeric.kind == Numeric::Kind::kFinite) return AppendNumericText(numeric, out);
      break;
    }
    case kTimestampOid:
    case kTimestamptzOid: {
      RETURN_IF_ERROR(CheckWidth(oid, bytes));
      const auto append = oid == kTimestampOid ? AppendTimestamp : AppendTimestamptz;
      out->push_back('"');
      RETURN_IF_ERROR(append(ReadBig<int64_t>(bytes.data()), DateForm::kJson, out));
      out->push_back('"');
      return {};
    }
    case kTextOid:
    case kVarcharOid:
    case kBpcharOid:
    case kNameOid: AppendJsonString(bytes, out); return {};
    case kJsonOid: return AppendNormalJson(bytes, NumberForm::kJsonb, out);
    default: break;
  }
  if (const BinaryType* element = FindElementOfArray(oid)) return AppendArrayJson(element->oid, bytes, out);
  RETURN_IF_ERROR(AppendBinaryText(oid, bytes, &text));
  AppendJsonString(text, out);
  return {};
}

}  // namespace varve::types
