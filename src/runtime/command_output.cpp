// Forms, terminal, colours, progress: see command_output.hpp.
#include "koord/runtime/command_output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "koord/base/system.hpp"
#include "koord/json/value.hpp"
#include "koord/json/yaml.hpp"

namespace koord::runtime {

Result<OutputForm> parse_output_form(std::string_view text) {
  if (text.empty() || text == "text") return OutputForm::text;
  if (text == "wide") return OutputForm::wide;
  if (text == "json") return OutputForm::json;
  if (text == "yaml") return OutputForm::yaml;
  return Error(Code::invalid, fmt::format("--output: \"{}\" is not text, wide, json or yaml", text));
}

std::string in_form(OutputForm form, std::string json) {
  const auto document = form == OutputForm::yaml ? json::parse(json) : Result<json::Document>(Error());
  return document ? json::to_yaml(*document) : fmt::format("{}\n", json);
}

bool wants_colours(bool is_terminal, const GetVariable& variable) {
  if (!is_terminal) return false;
  if (const auto no = variable("NO_COLOR"); no && !no->empty()) return false;
  const auto terminal = variable("TERM");
  return !terminal || *terminal != "dumb";
}

Screen screen() {
  Screen screen;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  screen.colours = wants_colours(is_terminal, &environment);
  winsize size{};
  if (is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    screen.width = size.ws_col;
    screen.height = size.ws_row;
  }
  return screen;
}

std::string Paint::operator()(Colour colour, std::string text) const {
  if (!colours_ || colour == Colour::none) return text;
  std::string_view code;
  switch (colour) {
    case Colour::strong: code = "1"; break;
    case Colour::faint: code = "2"; break;
    case Colour::good: code = "32"; break;
    case Colour::warning: code = "33"; break;
    case Colour::bad: code = "31"; break;
    case Colour::none: break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

namespace {

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void wrap(std::string& out, std::string_view line, std::size_t width) {
  const std::size_t indent = std::min(line.find_first_not_of(" -"), line.size());
  const bool is_table = line.find("  ", indent) != std::string_view::npos;
  const std::size_t hanging = std::min(indent, width / 2) + (indent == 0 ? 2 : 0);
  std::string before;
  while (!is_table && before.size() + line.size() > width) {
    const std::size_t room = width - before.size();
    std::size_t cut = line.rfind(' ', room);
    if (cut == std::string_view::npos || line.find_first_not_of(" -") >= cut) cut = line.find(' ', room);
    if (cut == std::string_view::npos) break;
    out += fmt::format("{}{}\n", before, line.substr(0, cut));
    line.remove_prefix(cut + 1);
    before = std::string(hanging, ' ');
  }
  out += fmt::format("{}{}\n", before, line);
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  for_each_line(text, [&](std::string_view line) { wrap(out, line, std::max<std::size_t>(width, 40)); });
  return out;
}

std::string painted_heads(std::string text, bool colours) {
  if (!colours) return text;
  const Paint paint(true);
  std::string out;
  for_each_line(text, [&](std::string_view line) {
    const bool is_head = line.ends_with(':') && !line.starts_with(' ');
    out += paint(is_head ? Colour::strong : Colour::none, std::string(line));
    out += '\n';
  });
  return out;
}

std::string cleaned(std::string text) {
  std::size_t to = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // C1, in UTF-8
      text[to++] = '?';
      ++at;
    } else {
      text[to++] = (byte < 0x20 && byte != '\n') || byte == 0x7f ? '?' : text[at];
    }
  }
  text.resize(to);
  return text;
}

std::string for_people(OutputForm form, std::string text) {
  text = cleaned(std::move(text));
  const Screen here = screen();
  if (here.height == 0 || form == OutputForm::wide) return text;
  return painted_heads(wrapped(text, here.width), here.colours);
}

bool ProgressBar::on_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::string progress_line(std::string_view what, std::size_t done, std::size_t all) {
  if (all == 0) return fmt::format("{} {}", what, done);
  constexpr std::size_t kMarks = 20;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
  const auto full = static_cast<std::size_t>(share * kMarks);
  return fmt::format("{} [{:#<{}}{:-<{}}] {:3.0f}%  {} of {}", what, "", full, "", kMarks - full, share * 100,
                     done, all);
}

void ProgressBar::show(std::string_view what, std::size_t done, std::size_t all) {
  if (shows_) put(progress_line(what, done, all));
}

void ProgressBar::show(std::string_view what) {
  if (shows_) put(std::string(what));
}

void ProgressBar::put(std::string line) {
  if (line == shown_) return;
  shown_ = std::move(line);
  err_ << "\r\x1b[K" << shown_ << std::flush;
}

void ProgressBar::clear() {
  if (shown_.empty()) return;
  shown_.clear();
  err_ << "\r\x1b[K" << std::flush;
}

}  // namespace koord::runtime
