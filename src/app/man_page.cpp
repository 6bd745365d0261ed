// koord(1), from the tables.
#include <fmt/format.h>

#include "called_as.hpp"
#include "koord/base/feature_gate.hpp"
#include "program_help.hpp"

namespace koord::app {
namespace {

using runtime::Flag;
using runtime::FlagType;

/// Text as roff takes it: no backslash, no dash that becomes a hyphen, no line that begins as a request does.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins = c == '\n';
  }
  return out;
}

std::string_view value_name(FlagType type) {
  switch (type) {
    case FlagType::boolean: return "";
    case FlagType::integer:
    case FlagType::real: return "NUMBER";
    case FlagType::duration: return "DURATION";
    case FlagType::text: return "TEXT";
    case FlagType::list: return "A,B,...";
    case FlagType::pairs: return "K=V,...";
  }
  return "";
}

std::string flag_rows(std::span<const Flag> flags) {
  std::string out;
  for (const Flag& flag : flags) {
    if (flag.hidden) continue;
    out += ".TP\n";
    if (flag.shorthand != 0) out += fmt::format("\\fB\\-{}\\fR, ", flag.shorthand);
    out += fmt::format("\\fB\\-\\-{}\\fR", roff(flag.name));
    if (const auto value = value_name(flag.type); !value.empty()) out += fmt::format("=\\fI{}\\fR", value);
    out += fmt::format("\n{}\n", roff(flag.help));
    if (!flag.default_value.empty()) out += fmt::format("Default: {}.\n", roff(flag.default_value));
    if (!flag.deprecated.empty()) out += fmt::format("Deprecated: {}.\n", roff(flag.deprecated));
  }
  return out;
}

std::string gate_rows(std::span<const FeatureGate> gates) {
  std::string out;
  for (const FeatureGate& gate : gates)
    if (!gate.help.empty())
      out += fmt::format(".TP\n\\fB{}\\fR ({})\n{}\n", roff(gate.name), gate.enabled ? "on" : "off",
                         roff(gate.help));
  return out.empty() ? out : fmt::format(".PP\nFeature gates (\\fB\\-\\-feature\\-gates\\fR):\n{}", out);
}

/// Text that a terminal shows, as it is.
std::string verbatim(std::string_view text) { return fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text)); }

}  // namespace

std::string man_page(const ProgramHelp& program) {
  std::string out = fmt::format(
      ".TH KOORD 1 \"\" \"koord {}\" \"koord\"\n.nh\n.ad l\n"
      ".SH NAME\nkoord \\- schedules and protects co\\-located workloads on Kubernetes\n"
      ".SH SYNOPSIS\n\\fBkoord\\fR \\fB\\-\\-role=\\fIROLE\\fR[,\\fIROLE\\fR...] [\\fIflags\\fR]\n.br\n"
      "\\fBkoord\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n"
      ".SH DESCRIPTION\n"
      "koord is Koordinator in one program. A role is a part of it that runs; a command does one thing and "
      "ends.\nWith several roles a flag is written \\fB\\-\\-\\fIROLE\\fB.\\fINAME\\fR; the bare name will "
      "do where only one of them has it.\n.PP\nCalled by another name the program is what the name says:\n",
      roff(program.version));
  for (const ProgramName& name : program_names())
    out += fmt::format(
        ".TP\n\\fB{}\\fR\n{}\n", roff(name.name),
        name.name == kPluginCompletion ? std::string("what kubectl completes that plugin's lines with")
        : name.role.empty()            ? std::string("koord, as a plugin of kubectl: \\fBkubectl koord\\fR")
                                       : fmt::format("\\fBkoord \\-\\-role={}\\fR", roff(name.role)));
  out += ".SH COMMANDS\n";
  for (const CommandHelp& command : program.commands) {
    out += fmt::format(".SS koord {}\n{}\n", roff(command.name), roff(command.summary));
    if (!command.help.empty()) out += verbatim(command.help);
  }
  out += fmt::format(".SH FLAGS OF THE PROCESS\n{}", flag_rows(program.process_flags));
  for (const runtime::RoleDescriptor* role : program.roles)
    out += fmt::format(".SH ROLE {}\n{}\n{}{}", roff(role->name), roff(role->summary), flag_rows(role->flags),
                       gate_rows(role->gates));
  out +=
      ".SH EXIT STATUS\n.TP\n0\nIt did what it was asked to.\n.TP\n1\nIt ran and failed.\n.TP\n2\n"
      "The command line or a configuration is wrong; nothing was started.\n"
      ".SH SEE ALSO\n\\fBkoord docs\\fR prints the reference of flags, gates, metrics and configuration.\n";
  return out;
}

}  // namespace koord::app
