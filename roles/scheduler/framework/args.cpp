// Plugin arguments: see args.hpp.
#include "framework/args.hpp"

#include <algorithm>

#include "koord/base/text.hpp"

namespace koord::scheduler {

void FieldErrors::invalid(const std::string& path, const std::string& value, std::string_view why) {
  errors_.push_back(path + ": Invalid value: " + value + ": " + std::string(why));
}

void FieldErrors::required(const std::string& path, std::string_view why) {
  errors_.push_back(path + ": Required value" + (why.empty() ? "" : ": " + std::string(why)));
}

void FieldErrors::duplicate(const std::string& path, const std::string& value) {
  errors_.push_back(path + ": Duplicate value: " + value);
}

void FieldErrors::not_supported(const std::string& path, const std::string& value,
                                std::vector<std::string> supported) {
  std::string list;
  for (const std::string& s : supported) list += (list.empty() ? "" : ", ") + quote(s);
  errors_.push_back(path + ": Unsupported value: " + quote(value) + ": supported values: " + list);
}

std::string FieldErrors::text() const {
  std::vector<std::string> once;
  for (const std::string& e : errors_)
    if (std::find(once.begin(), once.end(), e) == once.end()) once.push_back(e);
  if (once.size() == 1) return once.front();
  std::string text = "[";
  for (const std::string& e : once) text += (text.size() == 1 ? "" : ", ") + e;
  return text + "]";
}

}  // namespace koord::scheduler
