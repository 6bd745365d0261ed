# The demonstration: co-location as a loop, on simulated clusters with and without it.

verb_demo() {
  verb_build
  exec python3 packaging/demo/demo.py "$@"
}
