// AssumedObjects: objects as they will be when what was decided is written, on top of a store.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/kube/store.hpp"
#include "koord/scheduling/cluster/object_store.hpp"

namespace koord::scheduling {

/// What is assumed hides the stored object of the same version, until the store gets another one or it is
/// restored: whatever the API server tells counts more. The store and its events go on as they do: nobody is
/// told of what is assumed. Belongs to the engine's thread; lives as long as the store (a plugin makes it
/// with PluginContext::shared, so that the profiles assume in one place).
template <class T>
class AssumedObjects {
 public:
  using OnChange = std::function<void(const T* before, const T* now)>;

  explicit AssumedObjects(ObjectStore<T>& store) : store_(store) {
    store.on_change([this](const T* before, const T* now) { stored(before, now); });
  }
  AssumedObjects(const AssumedObjects&) = delete;
  AssumedObjects& operator=(const AssumedObjects&) = delete;

  /// nullptr: there is none. `ns` is empty for kinds without a namespace.
  std::shared_ptr<const T> find(std::string_view ns, std::string_view name) const {
    const auto it = assumed_.find(kube::KeyView{ns, name});
    return it != assumed_.end() ? it->second : store_.find(ns, name);
  }
  /// As the API server told it last.
  std::shared_ptr<const T> stored(std::string_view ns, std::string_view name) const {
    return store_.find(ns, name);
  }
  std::size_t assumed() const { return assumed_.size(); }
  /// After each change of what find() gives: nullptr for what was not or is no more.
  void on_change(OnChange told) { on_change_.push_back(std::move(told)); }

  /// `object` is a changed copy of what find() gave. Fails if the store has another version by now.
  Result<> assume(std::shared_ptr<const T> object) {
    const kube::KeyView key = key_of(*object);
    const std::shared_ptr<const T> stored = store_.find(key.ns, key.name);
    if (stored == nullptr)
      return Error(Code::not_found, fmt::format("{} \"{}\" not found", api::kind<T>().plural, text(key)));
    const std::string &has = stored->metadata.resource_version, &is = object->metadata.resource_version;
    if (has != is)
      return Error(Code::conflict,
                   fmt::format("\"{}\" is out of sync (stored: {}, assume: {})", text(key), has, is));
    const std::shared_ptr<const T> before = take_out(key);
    assumed_.emplace(key, object);
    tell(before ? before.get() : stored.get(), object.get());
    return {};
  }
  /// What was assumed of this version is forgotten; if there is nothing, nothing happens.
  void restore(const T& object) {
    const kube::KeyView key = key_of(object);
    const auto it = assumed_.find(key);
    if (it == assumed_.end() || it->second->metadata.resource_version != object.metadata.resource_version)
      return;
    const std::shared_ptr<const T> before = take_out(key);
    tell(before.get(), store_.find(key.ns, key.name).get());
  }

 private:
  static kube::KeyView key_of(const T& object) {
    return {object.metadata.namespace_.view(), object.metadata.name};
  }
  static std::string text(const kube::KeyView& key) {
    return key.ns.empty() ? std::string(key.name) : fmt::format("{}/{}", key.ns, key.name);
  }
  std::shared_ptr<const T> take_out(const kube::KeyView& key) {
    const auto it = assumed_.find(key);
    if (it == assumed_.end()) return nullptr;
    std::shared_ptr<const T> object = std::move(it->second);
    assumed_.erase(it);
    return object;
  }
  void stored(const T* before, const T* now) {
    const auto it = assumed_.find(key_of(now != nullptr ? *now : *before));
    if (it == assumed_.end()) return tell(before, now);
    // Told again of the version that it is a copy of: nothing new.
    if (now != nullptr && now->metadata.resource_version == it->second->metadata.resource_version) return;
    const std::shared_ptr<const T> assumed = take_out(it->first);
    tell(assumed.get(), now);
  }
  void tell(const T* before, const T* now) const {
    for (const OnChange& told : on_change_) told(before, now);
  }

  ObjectStore<T>& store_;
  /// The keys point into the objects.
  std::unordered_map<kube::KeyView, std::shared_ptr<const T>, kube::KeyViewHash> assumed_;
  std::vector<OnChange> on_change_;
};

}  // namespace koord::scheduling
