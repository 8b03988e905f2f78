// SPDX-License-Identifier: PostgreSQL
#include "cli/table.h"

#include <clocale>
#include <cwchar>

#include <algorithm>

#include <fmt/format.h>

namespace varve::cli {
namespace {

constexpr size_t kMeasuredRows = 1000;
constexpr size_t kTab = 8;

// Widths of characters, whatever the user's locale is: everything that is printed is UTF-8.
int WidthOf(char32_t code) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return 1;
  const locale_t before = uselocale(utf8);
  const int width = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return width;
}

// Takes one character; nothing for a byte that is no UTF-8, which is then taken alone.
std::optional<char32_t> TakeCharacter(std::string_view* text, std::string_view* bytes) {
  const auto lead = static_cast<unsigned char>(text->front());
  const size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  char32_t code = length == 1 ? lead : lead & (0x7F >> std::max<size_t>(length, 1));
  bool valid = length != 0 && length <= text->size();
  for (size_t i = 1; valid && i < length; ++i) {
    const auto next = static_cast<unsigned char>((*text)[i]);
    valid = (next & 0xC0) == 0x80;
    code = (code << 6) | (next & 0x3F);
  }
  *bytes = text->substr(0, valid ? length : 1);
  text->remove_prefix(bytes->size());
  return valid ? std::optional<char32_t>(code) : std::nullopt;
}

void AppendControl(char32_t code, DisplayLine* line) {
  const std::string shown = code == '\r' ? "\\r" : fmt::format("\\x{:02X}", static_cast<unsigned>(code));
  line->text += shown;
  line->width += shown.size();
}

void AppendCharacter(std::string_view* text, DisplayLine* line) {
  std::string_view bytes;
  const std::optional<char32_t> code = TakeCharacter(text, &bytes);
  if (!code) return AppendControl(static_cast<unsigned char>(bytes.front()), line);
  if (*code == '\t') {
    const size_t blanks = kTab - line->width % kTab;
    line->text.append(blanks, ' ');
    line->width += blanks;
    return;
  }
  const int width = WidthOf(*code);
  // U+0080 to U+009F are controls too: some terminals obey them.
  if (*code < 0x20 || (*code >= 0x7F && *code < 0xA0)) return AppendControl(*code, line);
  if (width < 0) {
    const std::string shown = fmt::format("\\u{:04X}", static_cast<unsigned>(*code));
    line->text += shown;
    line->width += shown.size();
    return;
  }
  line->text.append(bytes);
  line->width += static_cast<size_t>(width);
}

bool LooksNumeric(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  if (text == "NaN" || text == "Infinity") return true;
  bool digit = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      digit = true;
    } else if (c == 'e' && digit && i + 2 < text.size() && (text[i + 1] == '+' || text[i + 1] == '-')) {
      ++i;
    } else if (c != '.') {
      return false;
    }
  }
  // 007 is no number but a name made of digits.
  return digit && !(text.size() > 1 && text[0] == '0' && text[1] != '.');
}

}  // namespace

std::vector<DisplayLine> DisplayLines(std::string_view text) {
  std::vector<DisplayLine> lines(1);
  while (!text.empty()) {
    if (text.front() == '\n') {
      lines.emplace_back();
      text.remove_prefix(1);
    } else {
      AppendCharacter(&text, &lines.back());
    }
  }
  return lines;
}

std::string DisplayText(std::string_view text) {
  std::string shown;
  for (const DisplayLine& line : DisplayLines(text)) {
    if (!shown.empty()) shown += "\\n";
    shown += line.text;
  }
  return shown;
}

namespace {

// The lines of a cell; of one that is too wide the beginning, as much as leaves room for an ellipsis.
std::vector<DisplayLine> CellLines(std::string_view text) {
  std::vector<DisplayLine> lines = DisplayLines(text);
  for (DisplayLine& line : lines) {
    if (line.width <= kCellWidthMost) continue;
    std::string_view rest = line.text;
    DisplayLine cut;
    while (true) {
      DisplayLine longer = cut;
      std::string_view bytes = rest;
      AppendCharacter(&bytes, &longer);
      if (longer.width + 1 > kCellWidthMost) break;
      rest = bytes;
      cut = std::move(longer);
    }
    cut.text += "…";
    ++cut.width;
    line = std::move(cut);
  }
  return lines;
}

}  // namespace

TablePrinter::TablePrinter(std::vector<std::string> columns, Sink sink)
    : columns_(std::move(columns)), sink_(std::move(sink)) {}

void TablePrinter::Add(Cells cells) {
  cells.resize(columns_.size());
  ++rows_;
  if (header_printed_) return PrintRow(cells);
  held_.push_back(std::move(cells));
  if (held_.size() >= kMeasuredRows) Flush();
}

void TablePrinter::Measure() {
  widths_.assign(columns_.size(), 0);
  right_.assign(columns_.size(), true);
  for (size_t i = 0; i < columns_.size(); ++i) {
    bool any = false;
    for (const DisplayLine& line : DisplayLines(columns_[i])) widths_[i] = std::max(widths_[i], line.width);
    for (const Cells& cells : held_) {
      if (!cells[i]) continue;
      any = true;
      right_[i] = right_[i] && LooksNumeric(*cells[i]);
      for (const DisplayLine& line : CellLines(*cells[i])) widths_[i] = std::max(widths_[i], line.width);
    }
    right_[i] = right_[i] && any;
  }
}

void TablePrinter::PrintHeader() {
  std::string names;
  std::string rule;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string shown = DisplayText(columns_[i]);
    const size_t width = DisplayLines(shown).front().width;
    const size_t left = widths_[i] > width ? (widths_[i] - width) / 2 : 0;
    const size_t right = widths_[i] > width ? widths_[i] - width - left : 0;
    names += (i == 0 ? " " : "| ") + std::string(left, ' ') + shown + std::string(right, ' ') + " ";
    rule += (i == 0 ? "" : "+") + std::string(widths_[i] + 2, '-');
  }
  sink_(names + "\n" + rule + "\n");
}

void TablePrinter::PrintRow(const Cells& cells) {
  std::vector<std::vector<DisplayLine>> lines;
  size_t height = 1;
  for (const auto& cell : cells) {
    lines.push_back(cell ? CellLines(*cell) : std::vector<DisplayLine>(1));
    height = std::max(height, lines.back().size());
  }
  std::string out;
  for (size_t row = 0; row < height; ++row) {
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool present = row < lines[i].size();
      const DisplayLine line = present ? lines[i][row] : DisplayLine{};
      const bool more = row + 1 < lines[i].size();
      const std::string blanks(widths_[i] > line.width ? widths_[i] - line.width : 0, ' ');
      out += i == 0 ? " " : "| ";
      if (right_[i]) {
        out += blanks + line.text;
      } else {
        out += line.text;
        // psql puts no blanks behind the last column.
        if (i + 1 < lines.size() || more) out += blanks;
      }
      if (more) {
        out += '+';
      } else if (i + 1 < lines.size()) {
        out += ' ';
      }
    }
    out += '\n';
  }
  sink_(out);
}

void TablePrinter::Flush() {
  if (header_printed_) return;
  Measure();
  PrintHeader();
  header_printed_ = true;
  for (const Cells& cells : held_) PrintRow(cells);
  held_.clear();
}

void TablePrinter::Finish() {
  Flush();
  sink_(fmt::format("({} row{})\n", rows_, rows_ == 1 ? "" : "s"));
}

std::string ExpandedRow(const std::vector<std::string>& columns, const Cells& cells) {
  size_t name_width = 0;
  size_t value_width = 0;
  for (const std::string& column : columns)
    name_width = std::max(name_width, DisplayLines(column).front().width);
  for (const auto& cell : cells) {
    if (!cell) continue;
    for (const DisplayLine& line : DisplayLines(*cell)) value_width = std::max(value_width, line.width);
  }
  value_width = std::min(value_width, kCellWidthMost);  // of the rule only: values are whole
  std::string out = "-[ RECORD 1 ]";
  for (size_t i = out.size(); i < name_width + value_width + 3; ++i) out += i == name_width + 1 ? '+' : '-';
  out += '\n';
  for (size_t i = 0; i < columns.size() && i < cells.size(); ++i) {
    const std::vector<DisplayLine> lines = cells[i] ? DisplayLines(*cells[i]) : std::vector<DisplayLine>(1);
    for (size_t row = 0; row < lines.size(); ++row) {
      const std::string name = row == 0 ? DisplayText(columns[i]) : "";
      const size_t width = row == 0 ? DisplayLines(name).front().width : 0;
      out += name + std::string(name_width - std::min(width, name_width), ' ');
      out += row + 1 < lines.size() ? "+| " : " | ";
      out += lines[row].text + "\n";
    }
  }
  return out;
}

}  // namespace varve::cli
