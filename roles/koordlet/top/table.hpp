// A text of lines that are cleaned, kept to the terminal and painted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "koord/runtime/command_output.hpp"
#include "top/cells.hpp"

namespace koord::koordlet {

class Lines {
 public:
  explicit Lines(const Page& page) : page_(page), paint_(page.colours) {}

  void add(std::string_view text, runtime::Colour colour = runtime::Colour::none) {
    while (text.ends_with(' ')) text.remove_suffix(1);
    text_ += paint_(colour, clean(text, page_.columns()));
    text_ += '\n';
    ++count_;
  }
  void blank() {
    text_ += '\n';
    ++count_;
  }
  void head(std::string_view text) { add(text, runtime::Colour::strong); }
  std::size_t count() const { return count_; }
  std::string take() { return std::move(text_); }
  const Page& page() const { return page_; }

 private:
  const Page page_;
  const runtime::Paint paint_;
  std::string text_;
  std::size_t count_ = 0;
};

}  // namespace koord::koordlet
