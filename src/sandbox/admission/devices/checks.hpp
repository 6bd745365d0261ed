// What the kinds of resource.k8s.io share in their validation: names, lists of bounded length, configuration,
// taints and tolerations; kube-apiserver's pkg/apis/resource/validation, in its words.
#pragma once

#include <set>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/resource_v1/device_selection.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/base/field_path.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

// The API's limits.
inline constexpr std::size_t kMostRequests = 32;  // also results, and names in a constraint
inline constexpr std::size_t kMostConstraints = 32, kMostConfigs = 32, kMostSubrequests = 8;
inline constexpr std::size_t kMostSelectors = 32, kMostReservations = 256;
inline constexpr std::size_t kMostParameterBytes = std::size_t{10} * 1024;

/// Each says what is wrong with the text at `path`, and returns whether nothing is.
bool check_label(std::string_view name, const FieldPath& path, StatusCauses& errors);
bool check_subdomain(std::string_view name, const FieldPath& path, StatusCauses& errors);
bool check_label_name(std::string_view name, const FieldPath& path, StatusCauses& errors);
bool check_label_value(std::string_view value, const FieldPath& path, StatusCauses& errors);
void check_driver(std::string_view name, const FieldPath& path, StatusCauses& errors);
void check_pool(std::string_view name, const FieldPath& path, StatusCauses& errors);
void check_uuid(std::string_view text, const FieldPath& path, StatusCauses& errors);
/// "NAME" or "DOMAIN/NAME".
void check_qualified(std::string_view name, const FieldPath& path, StatusCauses& errors);
/// "DOMAIN/NAME".
void check_fully_qualified(std::string_view name, const FieldPath& path, StatusCauses& errors);

/// True if there are no more than that; else the list is not looked at any further.
bool check_count(std::size_t count, std::size_t most, const FieldPath& path, StatusCauses& errors);

/// Each element by `check(element, path)`; with `key`, no two of one key.
template <class List, class Check, class Key>
void check_set(const List& list, std::size_t most, const FieldPath& path, StatusCauses& errors,
               const Check& check, const Key& key) {
  if (!check_count(list.size(), most, path, errors)) return;
  std::set<std::decay_t<decltype(key(list[0]))>> keys;
  for (std::size_t i = 0; i < list.size(); ++i) check(list[i], path.at(i));
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!keys.insert(key(list[i])).second) errors.duplicate(path.at(i).text(), key(list[i]));
}
template <class List, class Check>
void check_list(const List& list, std::size_t most, const FieldPath& path, StatusCauses& errors,
                const Check& check) {
  if (!check_count(list.size(), most, path, errors)) return;
  for (std::size_t i = 0; i < list.size(); ++i) check(list[i], path.at(i));
}

/// A JSON object of at most so many bytes.
void check_parameters(const api::RawJson& parameters, std::size_t most, const FieldPath& path,
                      StatusCauses& errors);
void check_configuration(const api::DeviceConfiguration& configuration, const FieldPath& path,
                         StatusCauses& errors);
void check_toleration(const api::DeviceToleration& toleration, const FieldPath& path, StatusCauses& errors);
void check_taint(const api::DeviceTaint& taint, const FieldPath& path, StatusCauses& errors);
void check_bindings(const api::List<Symbol>& conditions, const api::List<Symbol>& failures,
                    const FieldPath& path, StatusCauses& errors);
void check_node_selector(const api::NodeSelector& selector, const FieldPath& path, StatusCauses& errors);

/// Go's words of a value that is none of its kind.
Failure malformed(const Kind& kind, const Error& why);

/// The object as a struct, which validation works on; a field of another type is an error.
template <class T>
Outcome<T> read_as(const json::Value& object, const Kind& kind) {
  T typed;
  if (const auto done = api::decode(object, api::schema<T>(), &typed); !done)
    return malformed(kind, done.error());
  return typed;
}

}  // namespace koord::sandbox
