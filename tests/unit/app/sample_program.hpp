// A program of two roles and two commands, for what is printed of a program.
#pragma once

#include <array>

#include "app/program_help.hpp"
#include "koord/base/feature_gate.hpp"

namespace koord::app {

using runtime::Flag;
using runtime::FlagType;

inline constexpr std::array kSampleProcess = {
    Flag{"role", FlagType::list, "", "The roles."},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};
inline constexpr std::array kSampleAgent = {
    Flag{"addr", FlagType::text, ":9316", "Where it serves. 'Quoted' and C:\\back."},
    Flag{"quiet", FlagType::boolean, "false", "Says nothing."},
    Flag{"old", FlagType::text, "", "Old.", 0, {}, true, "it does nothing"},
};
inline constexpr std::array kSampleScheduler = {Flag{"addr", FlagType::text, "", "Its own."}};
inline constexpr std::array kSampleGates = {
    FeatureGate{.name = "Evicts", .help = "Evicts pods."},
    FeatureGate{.name = "Kubernetes", .help = ""},
};

inline const runtime::RoleDescriptor kSampleAgentRole{.name = "koordlet",
                                                      .summary = "The node agent.",
                                                      .flags = kSampleAgent,
                                                      .gates = kSampleGates,
                                                      .ports = {}};
inline const runtime::RoleDescriptor kSampleSchedulerRole{.name = "scheduler",
                                                          .summary = ".begins with a dot",
                                                          .flags = kSampleScheduler,
                                                          .gates = {},
                                                          .ports = {}};
inline const std::array kSampleRoles = {&kSampleAgentRole, &kSampleSchedulerRole};

inline ProgramHelp sample_program() {
  return {"1.2-3",
          kSampleProcess,
          kSampleRoles,
          {{"crds", "print them", ""},
           {"top", "a table",
            "koord top: a table.\n\n      --once         Print once.\n  -f, --file string  A file of\n"
            "                     --no-flag.\n.\n"}}};
}

}  // namespace koord::app
