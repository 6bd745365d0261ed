// Command-line flags as tables: parsing with pflag's and klog's rules, --help and markdown from the same
// rows.
//
// By hand and not over CLI11: a flag here may belong to several roles at once (--x is then an error that
// names both, --ROLE.x is not), '_' equals '-', Go's -long-name coexists with -v, and an unknown name must
// suggest the nearest of the chosen roles; CLI11 would be given a rewritten command line, and its messages
// would speak of that one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::runtime {

enum class FlagType : std::uint8_t {
  boolean,   // --x, --x=false
  integer,   // int64, also 0x..
  real,      // double
  duration,  // Go's: 1h30m, 1.5s, 100ms
  text,      // with the default "false" a switch: --x is --x=true, get_bool() is true for any other word
  list,      // comma-separated, and again: --x=a,b --x=c
  pairs,     // k=v,k2=v2, and again; a later key wins
};

/// One row. Everything is static text.
struct Flag {
  std::string_view name;  // without dashes
  FlagType type = FlagType::text;
  std::string_view default_value;  // as one would write it behind '='
  std::string_view help;
  char shorthand = 0;             // -v
  std::string_view section = {};  // heading in --help; empty: the first, untitled one
  bool hidden = false;            // accepted, not shown: upstream's deprecated flags
  /// Set if the flag is accepted and does nothing or soon will not exist; printed as a warning when used.
  std::string_view deprecated = {};
};

/// A role's flags, or (name empty) those of the process.
struct FlagOwner {
  std::string_view name;
  std::span<const Flag> flags;
  /// The original parses flags as Go's flag package does: -long-name is --long-name.
  bool single_dash = false;
};

/// One table of several: `constexpr auto kFlags = join_flags(kServingFlags, kMine);`
template <std::size_t... Sizes>
constexpr auto join_flags(const std::array<Flag, Sizes>&... tables) {
  std::array<Flag, (Sizes + ... + 0)> all{};
  std::size_t next = 0;
  auto append = [&](const auto& table) {
    for (const Flag& flag : table) all[next++] = flag;
  };
  (append(tables), ...);
  return all;
}

/// The parsed flags of one owner, over those of the process: a role asks for either. Asking for a flag that
/// no table has, or with the wrong type, is misuse and throws std::logic_error.
class FlagValues {
 public:
  bool get_bool(std::string_view name) const;
  std::int64_t get_int(std::string_view name) const;
  double get_real(std::string_view name) const;
  nanoseconds get_duration(std::string_view name) const;
  const std::string& get(std::string_view name) const;
  const std::vector<std::string>& get_list(std::string_view name) const;
  const std::map<std::string, std::string>& get_pairs(std::string_view name) const;
  /// Whether it was on the command line.
  bool changed(std::string_view name) const;
  bool has(std::string_view name) const;

  struct Value {
    const Flag* flag = nullptr;
    bool changed = false;
    bool truth = false;
    std::int64_t integer = 0;
    double real = 0;
    nanoseconds duration{0};
    std::string text;
    std::vector<std::string> list;
    std::map<std::string, std::string> pairs;
  };

 private:
  friend class FlagParser;
  friend Result<FlagValues> default_flags(std::span<const FlagOwner> owners);
  const Value& find(std::string_view name, FlagType type) const;
  std::map<std::string, Value, std::less<>> values_;
};

struct CommandLine {
  FlagValues process;
  std::map<std::string, FlagValues, std::less<>> roles;  // each includes the process's
  std::vector<std::string> warnings;
};

/// Parses what follows the program's name. `process` is looked up first. An error's message is one line for
/// the user: unknown flags with the nearest name, ambiguous ones with the ways to write them, bad values with
/// the flag and what was expected. Arguments that are no flags are errors.
Result<CommandLine> parse_flags(std::span<const std::string> arguments, const FlagOwner& process,
                                std::span<const FlagOwner> roles);

/// The values of the tables' defaults, as with an empty command line: for tests and for roles in the sandbox.
/// A default that does not parse is an error that names the row.
Result<FlagValues> default_flags(std::span<const FlagOwner> owners);

/// The table as pflag prints it, in `width` columns.
std::string flags_help(std::span<const Flag> flags, std::size_t width = 100);
/// The table as markdown, hidden rows left out.
std::string flags_markdown(std::span<const Flag> flags);

}  // namespace koord::runtime
