# The demonstration: a simulated cluster of mixed nodes and a mixed workload, scheduled by koord.

verb_demo() {
  local folder flags
  verb_build
  folder=$(mktemp -d "${TMPDIR:-/tmp}/koord-demo.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  flags=(--nodes=0 --port=0 --kubeconfig="$folder/kubeconfig" --summary=text --progress
    --load packaging/demo/nodes.yaml packaging/demo/workload.yaml)
  if [[ ${1:-} == --once ]]; then
    build/koord sandbox "${flags[@]}" --until-idle
    return
  fi
  say "demo: to look around, in another terminal:"
  say "  export KUBECONFIG=$folder/kubeconfig"
  say "  kubectl get nodes; kubectl -n demo get pods -o wide; kubectl -n demo scale deployment web --replicas=60"
  say "demo: Ctrl-C ends it"
  build/koord sandbox "${flags[@]}"
}
