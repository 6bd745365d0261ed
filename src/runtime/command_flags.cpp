// Words among flags: see command_flags.hpp.
#include "koord/runtime/command_flags.hpp"

#include <algorithm>
#include <string_view>

namespace koord::runtime {

WordsAndFlags split_words(std::span<const std::string> arguments, std::span<const Flag> table) {
  WordsAndFlags split;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    // "-" is a file: stdin.
    if (argument.size() < 2 || argument[0] != '-') {
      split.words.emplace_back(argument);
      continue;
    }
    split.flags.emplace_back(argument);
    const std::string_view name = argument.substr(argument.starts_with("--") ? 2 : 1);
    const bool is_short = !argument.starts_with("--");
    const auto flag = std::ranges::find_if(table, [&](const Flag& each) {
      return is_short ? name.size() == 1 && each.shorthand == name[0] : each.name == name;
    });
    const bool takes = flag != table.end() && flag->type != FlagType::boolean;
    if (takes && i + 1 < arguments.size()) split.flags.push_back(arguments[++i]);
  }
  return split;
}

}  // namespace koord::runtime
