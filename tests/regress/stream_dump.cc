// SPDX-License-Identifier: PostgreSQL
// Usage: stream_dump [SESSION] [--staged] <messages
//
// Reads messages of the plugin, one a line in hexadecimal, with the sidecar's decoder and prints a JSON
// object a change: cells in binary form as hexadecimal, cells in text form as they are. For the tests of the
// plugin. --staged: also streamed and prepared transactions.
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sidecar/model/row_image.h"
#include "sidecar/wire/decoder.h"

namespace varve {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::Status;
using model::CellKind;

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

Result<std::string> Unhex(std::string_view text) {
  std::string out;
  if (text.size() % 2 != 0) return Fail(ErrorCode::kInvalidArgument, "an odd number of hexadecimal digits");
  for (size_t i = 0; i < text.size(); i += 2) {
    const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
    out.push_back(static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1])));
  }
  return out;
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (static_cast<uint8_t>(c) < ' ') {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out.push_back(c);
    }
  }
  return out + '"';
}

// {"column": cell, ...}; an unchanged cell is {"unchanged": true}, absent ones are left out.
Result<std::string> ImageJson(const model::Relation& relation, std::string_view image) {
  ASSIGN_OR_RETURN(const std::vector<model::Cell> cells, model::DecodeImage(relation, image));
  std::string out = "{";
  for (const model::Column& column : relation.columns) {
    const model::Cell& cell = cells[column.attnum - 1];
    if (cell.kind == CellKind::kAbsent) continue;
    if (out.size() > 1) out += ", ";
    out += Quote(column.name) + ": ";
    switch (cell.kind) {
      case CellKind::kNull: out += "null"; break;
      case CellKind::kUnchanged: out += "{\"unchanged\": true}"; break;
      default: out += Quote(column.form == model::Form::kBinary ? Hex(cell.value) : std::string(cell.value));
    }
  }
  return out + "}";
}

Result<std::string> ChangeJson(const model::Change& change, const model::TransactionPiece& piece) {
  std::string out = fmt::format("{{\"kind\": \"{}\", \"xid\": {}, \"seq\": {}", model::OpName(change.op),
                                piece.xid, change.seq.value);
  if (piece.subxid != piece.xid) out += fmt::format(", \"subxid\": {}", piece.subxid);
  if (piece.non_transactional) out += ", \"non_transactional\": true";
  if (change.rewrite_rows) out += ", \"rows\": true";
  if (change.op == model::Op::kMessage) {
    return out + fmt::format(", \"transactional\": {}, \"prefix\": {}, \"content\": \"{}\"}}",
                             change.message_transactional, Quote(change.old_image), Hex(change.new_image));
  }
  if (change.relation == nullptr) return out + fmt::format(", \"oid\": {}}}", change.table.value);
  out += ", \"table\": " + Quote(change.relation->QualifiedName());
  if (!change.new_image.empty()) {
    ASSIGN_OR_RETURN(const std::string image, ImageJson(*change.relation, change.new_image));
    out += ", \"new\": " + image;
  }
  if (!change.old_image.empty()) {
    ASSIGN_OR_RETURN(const std::string image, ImageJson(*change.relation, change.old_image));
    out += fmt::format(", \"{}\": {}", change.old_is_full ? "old" : "key", image);
  }
  return out + "}";
}

std::string RelationJson(const model::Relation& relation) {
  std::string out = fmt::format("{{\"kind\": \"definition\", \"table\": {}, \"columns\": {{",
                                Quote(relation.QualifiedName()));
  for (const model::Column& column : relation.columns) {
    if (out.back() != '{') out += ", ";
    out += fmt::format("{}: {{\"form\": \"{}\", \"width\": {}", Quote(column.name),
                       column.form == model::Form::kText ? "text" : "binary", column.width);
    if (column.missing.has_value()) {
      out += ", \"missing\": " +
             Quote(column.form == model::Form::kBinary ? Hex(*column.missing) : *column.missing);
    }
    out += "}";
  }
  return out + "}}";
}

// The identifier that a piece ends with, as another member of its object.
std::string GidJson(const model::Batch& batch, const model::TransactionPiece& piece) {
  if (piece.count == 0) return {};
  const model::Change& last = batch.changes[piece.first_change + piece.count - 1];
  if (last.op != model::Op::kGid) return {};
  return fmt::format(", \"gid\": {}, \"gid_seq\": {}", Quote(last.new_image), last.seq.value);
}

std::string OriginJson(const model::TransactionPiece& piece) {
  if (!piece.origin) return {};
  return fmt::format(", \"origin\": {{\"id\": {}, \"name\": {}, \"lsn\": \"{}\"}}", piece.origin->id,
                     Quote(piece.origin->name), base::FormatLsn(piece.origin->lsn));
}

// What comes before the changes of a streamed piece, or is all there is of a piece that only ends something.
std::optional<std::string> FrameJson(const model::Batch& batch, const model::TransactionPiece& piece) {
  const char* kind = nullptr;
  switch (piece.staged) {
    case model::Staged::kNone:
    case model::Staged::kPrepared: return std::nullopt;
    case model::Staged::kStreamed: kind = "streamed"; break;
    case model::Staged::kStreamAbort: kind = "stream_abort"; break;
    case model::Staged::kStreamCommit: kind = "stream_commit"; break;
    case model::Staged::kStreamPrepare: kind = "stream_prepare"; break;
    case model::Staged::kCommitPrepared: kind = "commit_prepared"; break;
    case model::Staged::kRollbackPrepared: kind = "rollback_prepared"; break;
  }
  return fmt::format("{{\"kind\": \"{}\", \"xid\": {}, \"subxid\": {}, \"begin\": {}{}{}}}", kind, piece.xid,
                     piece.subxid, piece.begin, GidJson(batch, piece), OriginJson(piece));
}

Status Dump(wire::Decoder* decoder, std::string_view line) {
  ASSIGN_OR_RETURN(const std::string message, Unhex(line));
  ASSIGN_OR_RETURN(const model::Batch batch, decoder->Decode(message));
  if (batch.handshake.has_value()) {
    std::cout << fmt::format(
        "{{\"kind\": \"handshake\", \"plugin_version\": {}, \"server_version_num\": {}, "
        "\"system_identifier\": {}, \"timeline\": {}, \"database\": {}, \"slot\": {}, \"encoding\": {}}}\n",
        Quote(batch.handshake->plugin_version), batch.handshake->server_version_num,
        batch.handshake->system_identifier, batch.handshake->timeline, Quote(batch.handshake->database),
        Quote(batch.handshake->slot), Quote(batch.handshake->encoding));
  }
  for (const auto& relation : batch.relations) std::cout << RelationJson(*relation) << '\n';
  for (const model::TransactionPiece& piece : batch.pieces) {
    if (const auto line = FrameJson(batch, piece)) {
      std::cout << *line << '\n';
      if (piece.staged != model::Staged::kStreamed) continue;
    }
    for (size_t i = piece.first_change; i < piece.first_change + piece.count; ++i) {
      if (batch.changes[i].op == model::Op::kGid) continue;
      ASSIGN_OR_RETURN(const std::string json, ChangeJson(batch.changes[i], piece));
      std::cout << json << '\n';
    }
    if (piece.commit && !piece.non_transactional) {
      std::cout << fmt::format("{{\"kind\": \"{}\", \"xid\": {}{}{}}}\n",
                               piece.staged == model::Staged::kPrepared ? "prepare" : "commit", piece.xid,
                               GidJson(batch, piece), OriginJson(piece));
    }
  }
  return {};
}

}  // namespace
}  // namespace varve

int main(int argc, char** argv) {
  varve::wire::SessionId session;
  const bool staged = argc > 1 && std::string_view(argv[argc - 1]) == "--staged";
  if (staged) --argc;
  if (argc == 2 && std::string_view(argv[1]).size() == 32) {
    session.high = std::stoull(std::string(argv[1], 16), nullptr, 16);
    session.low = std::stoull(std::string(argv[1] + 16), nullptr, 16);
  } else if (argc != 1) {
    fmt::print(stderr, "usage: stream_dump [SESSION] [--staged] <messages\n");
    return 2;
  }
  varve::wire::Decoder decoder(session, staged);
  std::string line;
  while (std::getline(std::cin, line)) {
    const varve::base::Status status = varve::Dump(&decoder, line);
    if (!status) {
      fmt::print(stderr, "stream_dump: {}\n", status.error().message);
      return 1;
    }
  }
  return 0;
}
