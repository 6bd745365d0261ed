// Cells and columns of the kinds of resource.k8s.io as kube-apiserver prints them; classes and templates have
// none but Name and Age.
#include "sandbox/columns/cells.hpp"
#include "sandbox/columns/rows.hpp"

namespace koord::sandbox {
namespace {

void claim_cells(const json::Value& object, WallTime now, Cells& cells) {
  const bool deleted = !text_at(object, "metadata", "deletionTimestamp").empty();
  const json::Value* allocation = find(object, "status", "allocation");
  const bool allocated = allocation && !allocation->is_null();
  std::string state;
  if (deleted) join(state, "deleted");
  if (!allocated && !deleted) join(state, "pending");
  if (allocated) join(state, "allocated");
  if (allocated && !is_empty(find(object, "status", "reservedFor"))) join(state, "reserved");
  text(cells, name_of(object));
  text(cells, state);
  age(cells, object, now);
}

void slice_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "spec", "nodeName"));
  text(cells, text_at(object, "spec", "driver"));
  text(cells, text_at(object, "spec", "pool", "name"));
  age(cells, object, now);
}

constexpr Head kClaims[] = {{"Name"}, {"State"}, {"Age"}};
constexpr Head kSlices[] = {{"Name"}, {"Node"}, {"Driver"}, {"Pool"}, {"Age"}};

constexpr KindColumns kRows[] = {
    {"resource.k8s.io", "resourceclaims", claim_cells, kClaims},
    {"resource.k8s.io", "resourceslices", slice_cells, kSlices},
};

}  // namespace

std::span<const KindColumns> device_columns() { return kRows; }

}  // namespace koord::sandbox
