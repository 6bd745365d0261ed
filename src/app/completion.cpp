// What shells complete, from the tables. The functions that list are the same in both; the drivers are each
// shell's own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "called_as.hpp"
#include "koord/base/feature_gate.hpp"
#include "program_help.hpp"

namespace koord::app {
namespace {

using runtime::Flag;
using runtime::FlagType;

using Words = std::vector<std::string>;

Words flag_words(std::span<const Flag> flags) {
  Words words;
  for (const Flag& flag : flags)
    if (!flag.hidden)
      words.push_back(fmt::format("--{}{}", flag.name, flag.type == FlagType::boolean ? "" : "="));
  return words;
}

/// What follows a command before its flags.
struct SecondWords {
  std::string_view command;
  std::string_view words;
};
constexpr SecondWords kSecondWords[] = {{"explain", "pod reservation node"}, {"migrate", "check"}};

/// The flags at the beginnings of lines of a --help that runtime::flags_help printed.
Words flags_of_help(std::string_view help) {
  Words words;
  while (!help.empty()) {
    const auto end = std::min(help.find('\n'), help.size());
    std::string_view line = help.substr(0, end);
    help.remove_prefix(std::min(end + 1, help.size()));
    const auto dashes = line.find("--");
    if (dashes != 6 || !line.starts_with("  ")) continue;
    line.remove_prefix(dashes);
    const auto name = line.substr(0, line.find(' '));
    const bool takes = line.size() > name.size() + 1 && line[name.size() + 1] != ' ';
    words.push_back(fmt::format("{}{}", name, takes ? "=" : ""));
  }
  return words;
}

std::string row(std::string_view key, const Words& words) {
  if (words.empty()) return "";
  return fmt::format("    {}) printf '%s\\n' {} ;;\n", key, fmt::join(words, " "));
}

/// Shell functions of the tables. Every word of them is a name that stands in the code: nothing needs
/// quoting.
std::string lists(const ProgramHelp& program) {
  Words commands, roles;
  std::string command_flags, role_flags, gates, names;
  for (const CommandHelp& command : program.commands) {
    if (command.name.find(' ') != std::string_view::npos) continue;
    commands.emplace_back(command.name);
    Words words = flags_of_help(command.help);
    for (const SecondWords& second : kSecondWords)
      if (second.command == command.name) words.emplace_back(second.words);
    command_flags += row(command.name, words);
  }
  for (const runtime::RoleDescriptor* role : program.roles) {
    roles.emplace_back(role->name);
    role_flags += row(role->name, flag_words(role->flags));
    Words of_role;
    for (const FeatureGate& gate : role->gates)
      if (!gate.help.empty()) of_role.push_back(fmt::format("{}=", gate.name));
    gates += row(role->name, of_role);
  }
  for (const ProgramName& name : program_names())
    if (!name.role.empty()) names += fmt::format("    {}) printf '%s\\n' {} ;;\n", name.name, name.role);
  return fmt::format(
      "_koord_commands() {{ printf '%s\\n' {}; }}\n"
      "_koord_roles() {{ printf '%s\\n' {}; }}\n"
      "_koord_process_flags() {{ printf '%s\\n' {}; }}\n"
      "_koord_command_flags() {{\n  case $1 in\n{}  esac\n}}\n"
      "_koord_role_flags() {{\n  case $1 in\n{}  esac\n}}\n"
      "_koord_gates() {{\n  case $1 in\n{}  esac\n}}\n"
      "_koord_role_of_name() {{\n  case ${{1##*/}} in\n{}  esac\n}}\n",
      fmt::join(commands, " "), fmt::join(roles, " "), fmt::join(flag_words(program.process_flags), " "),
      command_flags, role_flags, gates, names);
}

// What may stand where the cursor is: whole words, or (after "=") what a value may be. $1: the word so far;
// $2: the program; then the words between. Written for both shells.
constexpr std::string_view kCandidates = R"sh(_koord_candidates() {
  local cur=$1 program=$2 first=${3:-} word roles='' role IFS=$' \n'
  shift 2
  for word in "$@"; do
    case $word in --role=*) roles="$roles $(printf '%s' "${word#--role=}" | tr ',' ' ')" ;; esac
  done
  [ -n "$roles" ] || roles=$(_koord_role_of_name "$program")
  set -- $(printf '%s' "$roles")
  case $cur in
    --role=*) _koord_roles; return ;;
    --feature-gates=*)
      word=${cur#--feature-gates=}
      case ${word##*,} in
        *=*) printf '%s\n' true false ;;
        *) for role in "$@"; do _koord_gates "$role"; done ;;
      esac
      return ;;
    -*=*) return ;;
  esac
  case $first in
    '') if [ $# -eq 0 ]; then _koord_commands; fi ;;
    -*) ;;
    *) _koord_command_flags "$first"; return ;;
  esac
  _koord_process_flags
  if [ $# -eq 1 ]; then
    _koord_role_flags "$1"
  else
    for role in "$@"; do _koord_role_flags "$role" | sed "s/^--/--$role./"; done
  fi
}
)sh";

constexpr std::string_view kBash = R"sh(_koord() {
  # Words as they were typed: readline would part them at "=", too.
  local line=${COMP_LINE:0:COMP_POINT} cur value
  local -a typed
  read -ra typed <<<"$line"
  if [[ $line == *[[:space:]] ]]; then typed+=(""); fi
  cur=${typed[-1]}
  value=$cur
  case $cur in -*=*) value=${cur##*[=,]} ;; esac
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(_koord_candidates "$cur" "${typed[0]}" "${typed[@]:1:${#typed[@]}-2}")" -- "$value"))
  # What stands before the last comma of a value belongs to readline's word.
  local before=${cur%"$value"}
  before=${before##*=}
  if [[ -n $before ]]; then COMPREPLY=("${COMPREPLY[@]/#/$before}"); fi
  if [[ ${COMPREPLY[0]:-} == *= ]]; then compopt -o nospace 2>/dev/null || true; fi
}
)sh";

constexpr std::string_view kZsh = R"sh(_koord() {
  setopt local_options sh_word_split
  local cur=$PREFIX
  local -a found
  found=(${(f)"$(_koord_candidates "$cur" "${words[1]}" "${(@)words[2,CURRENT-1]}")"})
  case $cur in
    -*=*)
      compset -P '*[=,]'
      if (( ! ${#found} )); then _files; return; fi
      ;;
  esac
  if (( ! ${#found} )); then _files; return; fi
  compadd -S '' -- ${(M)found:#*=}
  compadd -- ${found:#*=}
}
)sh";

// What kubectl's plugin is for, in the order of its help.
constexpr std::string_view kPluginCommands[] = {"explain", "top",   "nodes",        "lent",
                                                "quota",   "gangs", "reservations", "migrate"};

const CommandHelp* find(const ProgramHelp& program, std::string_view name) {
  const auto found = std::ranges::find(program.commands, name, &CommandHelp::name);
  return found != program.commands.end() ? &*found : nullptr;
}

std::string names() {
  Words words{"koord"};
  for (const ProgramName& name : program_names())
    if (name.name != kPluginCompletion) words.emplace_back(name.name);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::string plugin_help(const ProgramHelp& program) {
  std::string out =
      "kubectl koord: co-location at a glance, and why pods wait. It reads; it writes nothing.\n\n";
  for (const std::string_view name : kPluginCommands)
    if (const CommandHelp* const command = find(program, name))
      out += fmt::format("  kubectl koord {:<14}{}\n", name, command->summary);
  out += "\nEach has --help, -o json|yaml|wide, --kubeconfig and --context.\n";
  return out;
}

std::string plugin_completion(const ProgramHelp& program, std::span<const std::string> words) {
  static constexpr std::string_view kEnd = ":4\n";  // no names of files
  const std::string_view typed = words.empty() ? std::string_view() : std::string_view(words.back());
  std::string out;
  const auto offer = [&](std::string_view word, std::string_view what) {
    if (word.starts_with(typed))
      out += what.empty() ? fmt::format("{}\n", word) : fmt::format("{}\t{}\n", word, what);
  };
  if (words.size() < 2) {
    for (const std::string_view name : kPluginCommands)
      if (const CommandHelp* const command = find(program, name)) offer(name, command->summary);
    return out.append(kEnd);
  }
  if (typed.starts_with('-')) {
    const std::string two = fmt::format("{} {}", words[0], words[1]);
    const CommandHelp* const longer = find(program, two);
    const CommandHelp* const command = longer != nullptr ? longer : find(program, words[0]);
    if (command != nullptr)
      for (const std::string& flag : flags_of_help(command->help)) offer(flag, "");
    return out.append(kEnd);
  }
  if (words.size() == 2)
    for (const SecondWords& second : kSecondWords) {
      if (second.command != words[0]) continue;
      std::string_view rest = second.words;
      while (!rest.empty()) {
        const auto end = std::min(rest.find(' '), rest.size());
        offer(rest.substr(0, end), "");
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
  return out.append(kEnd);
}

std::string bash_completion(const ProgramHelp& program) {
  return fmt::format(
      "# bash completion of koord, printed by `koord docs bash`.\n{}{}{}complete -o default -F _koord {}\n",
      lists(program), kCandidates, kBash, names());
}

std::string zsh_completion(const ProgramHelp& program) {
  return fmt::format(
      "#compdef {}\n# zsh completion of koord, printed by `koord docs zsh`.\n{}{}{}_koord \"$@\"\n", names(),
      lists(program), kCandidates, kZsh);
}

}  // namespace koord::app
