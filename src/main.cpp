// The program's entry: one call, so that tests link everything else.
#include <iostream>
#include <string>
#include <vector>

#include "app/app.hpp"
#include "app/called_as.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return koord::app::run(koord::app::arguments_as_called(argc > 0 ? argv[0] : "", arguments),
                         koord::app::all_roles(), {std::cout, std::cerr});
}
