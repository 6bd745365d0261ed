// The program's entry: one call, so that tests link everything else.
#include <iostream>
#include <string>
#include <vector>

#include "app/app.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return koord::app::run(arguments, koord::app::all_roles(), {std::cout, std::cerr});
}
