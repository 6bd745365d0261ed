// Document: an API object kept whole as JSON, with paths, and Kubernetes' three kinds of patches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "koord/base/result.hpp"

namespace koord::api {

struct DocumentDom;  // src/api/schema/document_dom.hpp

/// One JSON value, nothing of it lost: unknown fields and the text of numbers stay as they came.
/// Moves are cheap, copies are explicit. Nesting is bounded by json::kMaxDepth.
/// Paths are JSON pointers (RFC 6901): "/metadata/labels/app.kubernetes.io~1name"; "" is the whole.
class Document {
 public:
  Document();  // null
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  /// Strict JSON in UTF-8; duplicate keys: the last one counts, as in Go.
  static Result<Document> parse(std::string_view json);
  Document clone() const;
  /// Compact.
  std::string to_json() const;

  bool has(std::string_view path) const;
  /// Empty if the path is absent or not of that type.
  std::optional<std::string_view> get_string(std::string_view path) const;
  std::optional<int64_t> get_int(std::string_view path) const;
  std::optional<bool> get_bool(std::string_view path) const;
  /// The number of elements or members; 0 if absent or a scalar.
  size_t size(std::string_view path) const;
  /// The value at the path as JSON, empty if it is absent.
  std::string get_json(std::string_view path) const;
  std::vector<std::string> keys(std::string_view path) const;

  /// Objects on the way are made. An error if the way leads through a scalar or past an array's end
  /// ("-" appends).
  Result<> set_string(std::string_view path, std::string_view value);
  Result<> set_int(std::string_view path, int64_t value);
  Result<> set_bool(std::string_view path, bool value);
  Result<> set_json(std::string_view path, std::string_view json);
  /// True if it was there.
  bool remove(std::string_view path);

  /// By value: the order of members does not count, that of elements does; numbers by value.
  friend bool operator==(const Document& a, const Document& b);

  const DocumentDom& dom() const { return *dom_; }
  DocumentDom& dom() { return *dom_; }

 private:
  std::unique_ptr<DocumentDom> dom_;
};

/// RFC 7386: null removes, objects merge, everything else replaces.
Result<> apply_merge_patch(Document& target, std::string_view patch);
/// RFC 6902. On an error (a failed test is Code::invalid) the target is as before.
Result<> apply_json_patch(Document& target, std::string_view patch);
/// Kubernetes' strategic merge: lists of built-in kinds merge by the keys of one table (see
/// merge_rules.hpp), with $patch, $retainKeys, $setElementOrder and $deleteFromPrimitiveList. `group` and
/// `kind` say which rules apply; an error (Code::unsupported) for kinds that have none (custom resources).
Result<> apply_strategic_patch(Document& target, std::string_view patch, std::string_view group,
                               std::string_view kind);
Result<> apply_patch(Document& target, PatchType type, std::string_view patch, std::string_view group,
                     std::string_view kind);
/// The merge patch from one document to another, nothing if they are equal.
std::optional<std::string> merge_diff(const Document& before, const Document& after);

/// How a built-in kind's list at a path merges.
struct ListRule {
  enum class Merge { atomic, by_key, set };
  Merge merge = Merge::atomic;
  std::string_view key;
};
/// The rule of a list: `kind` as above, `path` of field names without indexes ("spec.containers.ports").
ListRule list_rule(std::string_view group, std::string_view kind, std::string_view path);

}  // namespace koord::api
