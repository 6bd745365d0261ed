// Parsing of command lines against flag tables.
#include "koord/runtime/flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "flag_value.hpp"
#include "koord/base/suggest.hpp"

namespace koord::runtime {
namespace {

// klog and kube take '_' for '-'.
std::string normalised(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

const Flag* find_flag(std::span<const Flag> flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [&](const Flag& flag) { return normalised(flag.name) == name; });
  return found == flags.end() ? nullptr : &*found;
}

const Flag* find_shorthand(std::span<const Flag> flags, char letter) {
  const auto found =
      std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.shorthand == letter; });
  return found == flags.end() ? nullptr : &*found;
}

/// Written without a value it is "true": a switch, also one that takes other words.
bool is_switch(const Flag& flag) {
  return flag.type == FlagType::boolean || (flag.type == FlagType::text && flag.default_value == "false");
}

/// "a, b and c"; at least two.
std::string join(std::span<const std::string> parts, std::string_view last) {
  return fmt::format("{} {} {}", fmt::join(parts.first(parts.size() - 1), ", "), last, parts.back());
}

}  // namespace

// Walks the arguments once; what a flag means is decided by lookup().
class FlagParser {
 public:
  FlagParser(const FlagOwner& process, std::span<const FlagOwner> roles) : process_(process), roles_(roles) {}

  Result<CommandLine> parse(std::span<const std::string> arguments) {
    KOORD_TRY(defaults, default_flags(std::span(&process_, 1)));
    line_.process = std::move(defaults);
    for (const FlagOwner& role : roles_) {
      KOORD_TRY(values, default_flags(std::span(&role, 1)));
      line_.roles[std::string(role.name)] = std::move(values);
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (argument == "--" && i + 1 == arguments.size()) break;
      if (argument.size() < 2 || argument[0] != '-' || argument == "--")
        return Error(Code::invalid,
                     fmt::format("unexpected argument \"{}\": flags are written --NAME=VALUE", argument));
      std::optional<std::string_view> next;
      if (i + 1 < arguments.size()) next = arguments[i + 1];
      bool used_next = false;
      if (argument[1] == '-' || is_go_long(argument)) {
        KOORD_CHECK(
            long_flag(std::string_view(argument).substr(argument[1] == '-' ? 2 : 1), next, used_next));
      } else {
        KOORD_CHECK(short_flags(std::string_view(argument).substr(1), next, used_next));
      }
      if (used_next) ++i;
    }
    for (auto& [name, values] : line_.roles)
      values.values_.insert(line_.process.values_.begin(), line_.process.values_.end());
    return std::move(line_);
  }

 private:
  struct Target {
    const Flag* flag;
    FlagValues* values;
  };

  // -kubeconfig, where a chosen role's original accepts that; -v=4 and -v 4 stay shorthands.
  bool is_go_long(const std::string& argument) const {
    const std::string name = normalised(argument.substr(1, argument.find('=') - 1));
    if (name.size() < 2) return false;
    const bool any =
        std::any_of(roles_.begin(), roles_.end(), [](const FlagOwner& role) { return role.single_dash; });
    if (name == "role") return true;
    if (!any) return false;
    if (find_flag(process_.flags, name)) return true;
    for (const FlagOwner& role : roles_) {
      if (role.single_dash && find_flag(role.flags, name)) return true;
      if (name.starts_with(fmt::format("{}.", role.name))) return true;
    }
    return false;
  }

  Result<Target> lookup(std::string_view typed) {
    const std::string name = normalised(typed);
    for (const FlagOwner& role : roles_) {
      const std::string prefix = fmt::format("{}.", normalised(role.name));
      if (!name.starts_with(prefix)) continue;
      const std::string_view rest = std::string_view(name).substr(prefix.size());
      FlagValues& values = line_.roles.find(role.name)->second;
      if (const Flag* flag = find_flag(role.flags, rest)) return Target{flag, &values};
      if (find_flag(process_.flags, rest))
        return Error(Code::invalid,
                     fmt::format("flag --{}: {} belongs to the process, not to a role: write --{}", typed,
                                 rest, rest));
      return unknown(typed, role.flags, prefix, rest);
    }
    if (const Flag* flag = find_flag(process_.flags, name)) return Target{flag, &line_.process};
    std::vector<std::string> owners, ways;
    Target target{nullptr, nullptr};
    for (const FlagOwner& role : roles_) {
      const Flag* flag = find_flag(role.flags, name);
      if (!flag) continue;
      target = {flag, &line_.roles.find(role.name)->second};
      owners.emplace_back(role.name);
      ways.push_back(fmt::format("--{}.{}", role.name, flag->name));
    }
    if (owners.size() == 1) return target;
    if (owners.size() > 1)
      return Error(Code::invalid, fmt::format("flag --{} is ambiguous, it belongs to {}: write {}", typed,
                                              join(owners, "and"), join(ways, "or")));
    return unknown(typed, {}, "", name);
  }

  Error unknown(std::string_view typed, std::span<const Flag> flags, std::string_view prefix,
                std::string_view name) const {
    std::vector<std::string_view> known;
    auto add = [&](std::span<const Flag> table) {
      for (const Flag& flag : table)
        if (!flag.hidden) known.push_back(flag.name);
    };
    add(flags);
    if (prefix.empty()) {
      add(process_.flags);
      for (const FlagOwner& role : roles_) add(role.flags);
    }
    std::string message = fmt::format("unknown flag --{}", typed);
    if (const auto near = nearest(name, known))
      message += fmt::format(": did you mean --{}{}?", prefix, *near);
    return Error(Code::invalid, std::move(message));
  }

  Result<> long_flag(std::string_view text, std::optional<std::string_view> next, bool& used_next) {
    const auto equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (name.empty() || name[0] == '-')
      return Error(Code::invalid, fmt::format("bad flag syntax: --{}", text));
    KOORD_TRY(target, lookup(name));
    if (equals != std::string_view::npos) return set(target, text.substr(equals + 1));
    if (is_switch(*target.flag)) return set(target, "true");
    if (!next) return Error(Code::invalid, fmt::format("flag --{} needs a value", name));
    used_next = true;
    return set(target, *next);
  }

  Result<> short_flags(std::string_view letters, std::optional<std::string_view> next, bool& used_next) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const char letter = letters[i];
      Target target{find_shorthand(process_.flags, letter), &line_.process};
      std::vector<std::string> owners;
      if (!target.flag) {
        for (const FlagOwner& role : roles_) {
          if (const Flag* flag = find_shorthand(role.flags, letter)) {
            target = {flag, &line_.roles.find(role.name)->second};
            owners.push_back(fmt::format("--{}.{}", role.name, flag->name));
          }
        }
      }
      if (!target.flag) return unknown_short(letters, letter);
      if (owners.size() > 1)
        return Error(Code::invalid,
                     fmt::format("flag -{} is ambiguous: write {}", letter, join(owners, "or")));
      const std::string_view rest = letters.substr(i + 1);
      if (rest.starts_with('=')) return set(target, rest.substr(1));
      if (is_switch(*target.flag)) {
        KOORD_CHECK(set(target, "true"));
        continue;
      }
      if (!rest.empty()) return set(target, rest);
      if (!next) return Error(Code::invalid, fmt::format("flag -{} needs a value", letter));
      used_next = true;
      return set(target, *next);
    }
    return {};
  }

  Error unknown_short(std::string_view letters, char letter) const {
    std::string message = fmt::format("unknown flag -{}", letter);
    if (letters.size() > 1) {
      const std::string name = normalised(letters.substr(0, letters.find('=')));
      message = fmt::format("unknown flag -{}", letters);
      bool known = find_flag(process_.flags, name) != nullptr;
      for (const FlagOwner& role : roles_) known = known || find_flag(role.flags, name) != nullptr;
      if (known) message += fmt::format(": did you mean --{}?", letters);
    }
    return Error(Code::invalid, std::move(message));
  }

  Result<> set(const Target& target, std::string_view text) {
    FlagValues::Value& value = target.values->values_.find(target.flag->name)->second;
    if (auto done = set_flag_value(value, text); !done)
      return Error(Code::invalid, fmt::format("invalid value \"{}\" for --{}: {}", text, target.flag->name,
                                              done.error().message()));
    if (!target.flag->deprecated.empty() && !value.changed)
      line_.warnings.push_back(
          fmt::format("flag --{} is deprecated: {}", target.flag->name, target.flag->deprecated));
    value.changed = true;
    return {};
  }

  const FlagOwner& process_;
  std::span<const FlagOwner> roles_;
  CommandLine line_;
};

Result<CommandLine> parse_flags(std::span<const std::string> arguments, const FlagOwner& process,
                                std::span<const FlagOwner> roles) {
  return FlagParser(process, roles).parse(arguments);
}

Result<FlagValues> default_flags(std::span<const FlagOwner> owners) {
  FlagValues out;
  for (const FlagOwner& owner : owners) {
    for (const Flag& flag : owner.flags) {
      FlagValues::Value value;
      value.flag = &flag;
      const bool empty = flag.default_value.empty();
      if (!empty || flag.type == FlagType::text) {
        if (auto done = set_flag_value(value, flag.default_value); !done)
          return Error(Code::internal,
                       fmt::format("the default of --{}: {}", flag.name, done.error().message()));
      }
      out.values_.insert_or_assign(std::string(flag.name), std::move(value));
    }
  }
  return out;
}

const FlagValues::Value& FlagValues::find(std::string_view name, FlagType type) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::logic_error(fmt::format("no flag --{} in the tables", name));
  if (found->second.flag->type != type)
    throw std::logic_error(fmt::format("flag --{} is of another type", name));
  return found->second;
}

bool FlagValues::get_bool(std::string_view name) const {
  const auto found = values_.find(name);
  if (found != values_.end() && found->second.flag->type == FlagType::text && is_switch(*found->second.flag))
    return found->second.text != "false";
  return find(name, FlagType::boolean).truth;
}
std::int64_t FlagValues::get_int(std::string_view name) const {
  return find(name, FlagType::integer).integer;
}
double FlagValues::get_real(std::string_view name) const { return find(name, FlagType::real).real; }
nanoseconds FlagValues::get_duration(std::string_view name) const {
  return find(name, FlagType::duration).duration;
}
const std::string& FlagValues::get(std::string_view name) const { return find(name, FlagType::text).text; }
const std::vector<std::string>& FlagValues::get_list(std::string_view name) const {
  return find(name, FlagType::list).list;
}
const std::map<std::string, std::string>& FlagValues::get_pairs(std::string_view name) const {
  return find(name, FlagType::pairs).pairs;
}
bool FlagValues::changed(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() && found->second.changed;
}
bool FlagValues::has(std::string_view name) const { return values_.find(name) != values_.end(); }

}  // namespace koord::runtime
