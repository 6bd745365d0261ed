// Flags of commands that ask a cluster, beside those that each has for itself.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "koord/runtime/flags.hpp"

namespace koord::runtime {

/// What kube::find_config() is asked with.
inline constexpr std::array<Flag, 2> kClusterFlags = {{
    {"kubeconfig", FlagType::text, "",
     "How to reach the API server; empty: the file that KUBECONFIG names, else the pod's service account, "
     "else "
     "~/.kube/config."},
    {"context", FlagType::text, "", "The kubeconfig's context; empty: its current one."},
}};

/// A command line of words and flags in any order, as kubectl's are: "pod default/p -o json".
struct WordsAndFlags {
  std::vector<std::string> words;
  std::vector<std::string> flags;  // for parse_flags(): a flag's value that stood alone is behind it
};
/// By the table it is known which flags take a value; a flag that it does not have takes none.
WordsAndFlags split_words(std::span<const std::string> arguments, std::span<const Flag> table);

}  // namespace koord::runtime
