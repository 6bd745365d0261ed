// The one place where Asio is compiled: below async, since the precompiled header shows it to every file.
#include <boost/asio/impl/src.hpp>
