# Programs of Debian's packages that are downloaded and unpacked, never installed.

# with_unpacked PART PACKAGE COMMAND...: runs the command in the folder that the package was unpacked to, which goes afterwards.
with_unpacked() {
  local part=$1 package=$2 work status=0
  shift 2
  command -v apt-get >/dev/null || { say "$part: needs apt-get"; return 1; }
  say "$part: downloading $package"
  work=$(mktemp -d)
  # apt's own user has to write here.
  chmod 755 "$work"
  (
    cd "$work" &&
      { apt-get download -q "$package" || { apt-get update -q && apt-get download -q "$package"; }; } &&
      dpkg -x ./*.deb root && cd root && "$@"
  ) >&2 || status=1
  rm -rf "$work"
  ((status == 0)) || { say "$part: failed"; return 1; }
}

# put FROM TO: in the place of what is there, whole.
put() {
  mkdir -p "$(dirname "$2")" && rm -rf "$2.new" && cp -a "$1" "$2.new" && rm -rf "$2" && mv "$2.new" "$2"
}

# Debian's docker for the long tests. containerd and runc are the machine's.
docker_folder() { echo "${KOORD_DOCKER:-$KOORD_CACHE/docker}"; }

verb_docker() {
  local folder
  folder=$(docker_folder)
  if [[ -x $folder/usr/sbin/dockerd ]]; then say "docker: it is there, $folder"; return; fi
  with_unpacked docker docker.io put . "$folder" && say "docker: $folder"
}

# Prometheus' tool, which tries the dashboards' queries and the alerts.
promtool_path() { echo "${KOORD_PROMTOOL:-$KOORD_CACHE/prometheus/promtool}"; }

verb_promtool() {
  local tool
  tool=$(promtool_path)
  if [[ -x $tool ]]; then say "promtool: it is there, $tool"; return; fi
  with_unpacked promtool prometheus put usr/bin/promtool "$tool" && say "promtool: $tool"
}

# The kernel of the node tier's virtual machine.
vm_kernel_path() { echo "${KOORD_VM_KERNEL:-$KOORD_CACHE/vm/vmlinuz}"; }

# The package that the newest cloud kernel's metapackage depends on.
vm_kernel_package() {
  apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -nE 's/^ *Depends: (linux-image-[^ ]*-cloud-amd64)$/\1/p' | head -1
}

# Of the folder that the package was unpacked to.
put_kernel() { put "$(echo boot/vmlinuz-*)" "$1"; }

verb_vm_kernel() {
  local kernel package
  kernel=$(vm_kernel_path)
  if [[ -f $kernel ]]; then say "vm-kernel: it is there, $kernel"; return; fi
  package=$(vm_kernel_package)
  if [[ -z $package ]]; then
    command -v apt-get >/dev/null || { say "vm-kernel: needs apt-get, or KOORD_VM_KERNEL"; return 1; }
    apt-get update -q >&2
    package=$(vm_kernel_package)
  fi
  [[ -n $package ]] || { say "vm-kernel: no package linux-image-cloud-amd64"; return 1; }
  with_unpacked vm-kernel "$package" put_kernel "$kernel" && say "vm-kernel: $kernel"
}
