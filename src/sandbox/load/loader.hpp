// Loader: manifests from files: YAML documents, JSON objects, Lists; one object after the other.
#pragma once

#include <functional>
#include <string>

#include "koord/base/result.hpp"
#include "sandbox/api/verbs.hpp"

namespace koord::sandbox {

/// Reads a file and hands out its objects as JSON, one a call of next(); a List's items one by one. No more
/// than the text and one object are in memory.
class ManifestReader {
 public:
  static Result<ManifestReader> open(const std::string& path);
  static ManifestReader from_text(std::string text, std::string name);

  struct Item {
    std::string json;
    std::size_t line;  // of its beginning
  };
  /// Nothing at the end.
  Result<std::optional<Item>> next();
  const std::string& name() const { return name_; }

 private:
  Result<std::optional<Item>> next_json();
  Result<std::optional<Item>> next_yaml();
  std::size_t line_at(std::size_t offset);

  std::string name_, text_;
  std::size_t at_ = 0, counted_at_ = 0, counted_ = 1;
  bool json_ = false, in_list_ = false;
  std::vector<Item> queued_;  // of a YAML List
  std::size_t queued_next_ = 0;
};

/// Creates one object where it says it belongs; what the server owns (uid, resourceVersion) is dropped from
/// it.
Result<> load_object(Verbs& verbs, const std::string& json, Gate* gate = nullptr);

}  // namespace koord::sandbox
