#include "koord/api/rules/error_texts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::api {

std::string ListPlace::text(std::string_view field) const {
  std::string out(path);
  const auto part = [&out](std::string_view name) {
    if (!out.empty() && !name.empty()) out += '.';
    out += name;
  };
  part(list);
  if (index) fmt::format_to(std::back_inserter(out), "[{}]", *index);
  part(field);
  return out;
}

void ErrorTexts::keep(std::string text) {
  if (std::ranges::find(texts_, text) == texts_.end()) texts_.push_back(std::move(text));
}

std::string ErrorTexts::aggregate() const {
  const std::size_t more = count_ > most_ ? count_ - most_ : 0;
  if (texts_.size() == 1 && more == 0) return texts_[0];
  if (more == 0) return fmt::format("[{}]", fmt::join(texts_, ", "));
  return fmt::format("[{}, and {} more]", fmt::join(texts_, ", "), more);
}

}  // namespace koord::api
