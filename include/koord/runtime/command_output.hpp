// What commands that print for people share: the forms of an answer, the terminal, colours, a progress bar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::runtime {

/// --output: for people (wide: nothing is cut or left out), or for programs.
enum class OutputForm : std::uint8_t { text, wide, json, yaml };
/// What --output may be, for its help.
inline constexpr std::string_view kOutputForms = "text, wide (nothing is cut), json or yaml.";
/// The empty text is `text`, as kubectl has it; an error names the flag and what may stand there.
Result<OutputForm> parse_output_form(std::string_view text);
inline bool is_for_programs(OutputForm form) { return form == OutputForm::json || form == OutputForm::yaml; }
/// A JSON document as json or yaml, a line break at the end.
std::string in_form(OutputForm form, std::string json);

/// What stdout is. Elsewhere than on a terminal there are no lines to keep to, and no colours.
struct Screen {
  std::size_t width = 120, height = 0;
  bool colours = false;
};
using GetVariable = std::function<std::optional<std::string>(const char*)>;
/// Colours are for terminals, unless NO_COLOR says something (no-color.org) or TERM is "dumb".
bool wants_colours(bool is_terminal, const GetVariable& variable);
/// The process's.
Screen screen();

enum class Colour : std::uint8_t { none, strong, faint, good, warning, bad };
/// A line of text with escape sequences around it, where colours are wanted. The text is clean already.
class Paint {
 public:
  explicit Paint(bool colours) : colours_(colours) {}
  std::string operator()(Colour colour, std::string text) const;

 private:
  bool colours_;
};

/// Lines broken between words so that they keep to `width` columns (40 at least), what follows the first of a
/// line indented as that is and two further; longer words stay whole. Lines of tables, which have two spaces
/// between words, are left as they are.
std::string wrapped(std::string_view text, std::size_t width);
/// Lines that begin at the left and end in a colon, strong.
std::string painted_heads(std::string text, bool colours);

/// Text with what third parties have written in it, as any terminal may have it: control characters (C0, DEL,
/// C1) but for line breaks are '?'.
std::string cleaned(std::string text);
/// Sentences as this process's stdout has them, cleaned: on a terminal wrapped and painted, elsewhere and
/// `wide` as they are.
std::string for_people(OutputForm form, std::string text);

/// How far long work is, on one line of stderr that is written over; nothing at all elsewhere than on a
/// terminal. One thread. What is shown is gone when it ends.
class ProgressBar {
 public:
  /// `shows`: whether `err` is a terminal, and the user wants it.
  ProgressBar(std::ostream& err, bool shows) : err_(err), shows_(shows) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }
  /// The process's stderr is a terminal.
  static bool on_terminal();

  /// "listing pods [#####---------------]  25%  25000 of 100000"; of nobody knows how many: "listing pods
  /// 25000".
  void show(std::string_view what, std::size_t done, std::size_t all = 0);
  /// Something that has no parts.
  void show(std::string_view what);
  void clear();

 private:
  void put(std::string line);

  std::ostream& err_;
  const bool shows_;
  std::string shown_;
};
/// What show() puts there; without the escape sequences.
std::string progress_line(std::string_view what, std::size_t done, std::size_t all);

}  // namespace koord::runtime
