// By which names attributes of devices are known.
#pragma once

#include <string_view>
#include <utility>

namespace koord::scheduling::dynamic_resources {

/// Whether two are "DOMAIN/NAME" alike, with the driver's domain where there is none.
inline bool is_same_attribute(std::string_view a, std::string_view b, std::string_view driver) {
  const auto split = [&](std::string_view name) {
    const std::size_t slash = name.find('/');
    return slash == std::string_view::npos ? std::pair(driver, name)
                                           : std::pair(name.substr(0, slash), name.substr(slash + 1));
  };
  return split(a) == split(b);
}

}  // namespace koord::scheduling::dynamic_resources
