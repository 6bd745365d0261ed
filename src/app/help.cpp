// Help and reference, from the tables.
#include "help.hpp"

#include "app.hpp"

namespace koord::app {

std::string overview(Roles roles) {
  std::string out =
      "koord schedules and protects co-located workloads on Kubernetes.\n\n"
      "  koord --role=ROLE[,ROLE...] [flags]   run roles against a cluster\n"
      "  koord sandbox [flags]                 a cluster in memory, for trying and testing\n"
      "  koord crds                            print the custom resource definitions\n"
      "  koord docs                            print the reference of flags, gates and configuration\n"
      "  koord --role=ROLE --help              the flags of a role\n"
      "  koord --version\n\n"
      "Roles:\n";
  for (const runtime::RoleDescriptor* role : roles) {
    std::string name(role->name);
    name.resize(std::max<std::size_t>(name.size() + 2, 16), ' ');
    out += "  " + name + std::string(role->summary) + "\n";
  }
  out += "\nFlags of the process:\n" + runtime::flags_help(process_flags());
  return out;
}

std::string roles_help(Roles chosen) {
  std::string out;
  for (const runtime::RoleDescriptor* role : chosen) {
    out += "koord --role=" + std::string(role->name) + ": " + std::string(role->summary) + "\n\n";
    if (chosen.size() > 1)
      out += "With several roles a flag is written --" + std::string(role->name) +
             ".NAME; the bare name will do where only one of them has it.\n\n";
    out += runtime::flags_help(role->flags) + "\n";
  }
  out += "Flags of the process:\n" + runtime::flags_help(process_flags());
  return out;
}

std::string reference(Roles roles) {
  std::string out =
      "# koord " + version() + ": reference\n\nPrinted by `koord docs` from the tables in the code.\n";
  out += "\n## The process\n\n" + runtime::flags_markdown(process_flags());
  for (const runtime::RoleDescriptor* role : roles) {
    out += "\n## --role=" + std::string(role->name) + "\n\n" + std::string(role->summary) + "\n\n";
    out += runtime::flags_markdown(role->flags);
    if (role->docs) out += "\n" + role->docs();
  }
  return out;
}

}  // namespace koord::app
