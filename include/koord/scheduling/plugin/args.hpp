// Plugin arguments: the schema structs behind `pluginConfig` and the table that plugins are made from.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/rules/field_errors.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/schema/schema.hpp"
#include "koord/base/result.hpp"
#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::scheduling {

/// Of the type that the plugin's ArgsType describes; nullptr for plugins without arguments.
using Args = std::shared_ptr<const void>;

using api::FieldErrors;

/// What a schema struct has to be to carry a plugin's arguments.
struct ArgsType {
  const api::Schema& (*schema)();
  std::shared_ptr<void> (*create)();
  /// What follows from other fields, after the rows' defaults.
  void (*complete)(void* args);
  void (*validate)(const void* args, const std::string& path, FieldErrors& errors);

  std::string_view kind() const { return api::kind_of(schema()).kind; }
  /// Ones with every row's default.
  std::shared_ptr<void> make_default() const;
  /// Gives what is absent its row's default, then completes it.
  void set_defaults(void* args) const;
};

/// The kind of a plugin's arguments, for their schema: a file may carry apiVersion and kind, or neither.
constexpr api::Kind args_kind(std::string_view kind) {
  return api::Kind("kubescheduler.config.k8s.io/v1", kind);
}

/// Of a struct whose schema has an args_kind(), with `void validate(path, errors) const`. What is absent gets
/// its row's default before that, or what `void complete()` makes of it, if there is one.
template <class T>
inline constexpr ArgsType args_type{&api::schema<T>,
                                    [] { return std::static_pointer_cast<void>(std::make_shared<T>()); },
                                    [](void* args) {
                                      if constexpr (requires(T& t) { t.complete(); })
                                        static_cast<T*>(args)->complete();
                                    },
                                    [](const void* args, const std::string& path, FieldErrors& errors) {
                                      static_cast<const T*>(args)->validate(path, errors);
                                    }};

/// One row of the plugin table, the last thing in plugins/NAME/NAME.cpp.
struct PluginEntry {
  std::string_view name;
  const ArgsType* args = nullptr;  // nullptr: takes none
  std::string_view gate = {};      // the feature gate that it needs; empty: none
  /// nullptr: koord does not have the plugin yet; its arguments are read and checked all the same.
  Result<std::unique_ptr<Plugin>> (*make)(const Args& args, const PluginContext& context) = nullptr;
};

/// In the order in which plugins are made, kube-scheduler's MultiPoint order.
using PluginTable = std::span<const PluginEntry* const>;
/// nullptr: there is none of that name.
const PluginEntry* find_plugin(PluginTable table, std::string_view name);

/// A row's `make` for a plugin that takes no arguments.
template <class P>
Result<std::unique_ptr<Plugin>> make(const Args&, const PluginContext& context) {
  return std::unique_ptr<Plugin>(std::make_unique<P>(context));
}

/// The same for one that takes an A.
template <class P, class A>
Result<std::unique_ptr<Plugin>> make_with(const Args& args, const PluginContext& context) {
  return std::unique_ptr<Plugin>(std::make_unique<P>(*static_cast<const A*>(args.get()), context));
}

}  // namespace koord::scheduling
