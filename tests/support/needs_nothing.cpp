// Most tests need nothing outside the process.
#include "support/needs.hpp"

const char* missing_need() { return nullptr; }
