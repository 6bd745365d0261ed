// Plugin arguments: the schema structs behind `pluginConfig` and the table that plugins are made from.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/schema/schema.hpp"
#include "koord/base/result.hpp"

namespace koord::scheduler {

/// Of the type that the plugin's ArgsType describes; nullptr for plugins without arguments.
using Args = std::shared_ptr<const void>;

/// What a validation finds wrong, as Kubernetes prints it: `path: Invalid value: 0: why`.
class FieldErrors {
 public:
  void invalid(const std::string& path, const std::string& value, std::string_view why);
  void required(const std::string& path, std::string_view why = {});
  void duplicate(const std::string& path, const std::string& value);
  void not_supported(const std::string& path, const std::string& value, std::vector<std::string> supported);
  /// Worded already.
  void add(std::string message) { errors_.push_back(std::move(message)); }

  bool empty() const { return errors_.empty(); }
  /// One error: as it is; several: "[a, b]", each once, as an aggregate prints.
  std::string text() const;

 private:
  std::vector<std::string> errors_;
};

struct ArgsType {
  std::string_view kind;  // "NodeAffinityArgs"
  const api::Schema& (*schema)();
  std::shared_ptr<void> (*create)();
  void (*set_defaults)(void* args);
  void (*validate)(const void* args, const std::string& path, FieldErrors& errors);
};

/// The kind of a plugin's arguments, for their schema: a file may carry apiVersion and kind, or neither.
constexpr api::Kind args_kind(std::string_view kind) {
  return api::Kind("kubescheduler.config.k8s.io/v1", kind);
}

/// An ArgsType from a struct with `void set_defaults()` and `void validate(path, errors) const`.
template <class T>
constexpr ArgsType args_type(std::string_view kind) {
  return {kind, &api::schema<T>, [] { return std::static_pointer_cast<void>(std::make_shared<T>()); },
          [](void* args) { static_cast<T*>(args)->set_defaults(); },
          [](const void* args, const std::string& path, FieldErrors& errors) {
            static_cast<const T*>(args)->validate(path, errors);
          }};
}

/// One row of the plugin table.
struct PluginEntry {
  std::string_view name;
  const ArgsType* args;   // nullptr: takes none
  std::string_view gate;  // the feature gate that it needs; empty: none
  Result<std::unique_ptr<Plugin>> (*make)(const Args& args, const PluginContext& context);
};

/// A `make` for a plugin that takes no arguments.
template <class P>
Result<std::unique_ptr<Plugin>> make_plain(const Args&, const PluginContext& context) {
  return std::unique_ptr<Plugin>(std::make_unique<P>(context));
}

}  // namespace koord::scheduler
