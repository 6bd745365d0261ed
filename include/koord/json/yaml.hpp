// YAML as JSON text, the way Kubernetes' tools read it, and back: for configuration files, kubeconfigs and
// manifests.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::json {

class Value;

/// Where values stood: path (".profiles[0].name", as the codec's messages have it) to line, from 1.
using LineMap = std::map<std::string, int, std::less<>>;

/// One YAML (or JSON) document as JSON text. Plain scalars get the types that YAML 1.1 gives them (yes, 0x1f,
/// 0644, .5), the digits of numbers are kept; quoted ones are strings. Nothing at all is null.
/// What is no UTF-8, duplicate keys, a second document, deep nesting, endless aliases and what JSON lacks are
/// errors of Code::parse whose message starts with the line; more than 16 MiB of JSON is too, and with
/// `lines` more than 65,536 values. The text's first line is `first_line`.
Result<std::string> yaml_to_json(std::string_view text, LineMap* lines = nullptr, int first_line = 1);

/// An object or an array as YAML in blocks, a line break at the end; strings are quoted where YAML could read
/// them as anything else.
std::string to_yaml(const Value& value);

}  // namespace koord::json
