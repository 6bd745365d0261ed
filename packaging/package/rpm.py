"""koord-VERSION-1.ARCHITECTURE.rpm, by rpmbuild (Debian's package rpm). The same stage and SOURCE_DATE_EPOCH give the same bytes."""
import os
import shutil
import subprocess
import tempfile
import time

import layout

ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
# An upgrade runs the new package's %post and then, with "1", the old one's %preun and %postun. There is no purge: what somebody
# has written into /etc/koord and drop-ins of units stays, as of any rpm, and all else goes.
SPEC = """Name: koord
Version: {version}
Release: 1
Summary: {summary}
License: Apache-2.0
Group: System/Management
Vendor: {maintainer}
Packager: {maintainer}
AutoReqProv: no
Requires: systemd
Requires(postun): /usr/sbin/userdel

%description
{description}
%install
mkdir -p %{{buildroot}}
cp -a {stage}/. %{{buildroot}}/

%post
if [ "$1" -gt 1 ]; then upgrade=yes; else upgrade=no; fi
{after_install}
%preun
if [ "$1" -gt 0 ]; then exit 0; fi
{before_remove}
%postun
if [ "$1" -gt 0 ]; then exit 0; fi
{after_remove}{purge}
%files
{files}

%changelog
* {date} {maintainer} - {version}-1
- Built from the tree.
"""
# Its own, and those that are not there without the shells that look into them.
FOLDERS = ("etc/koord", "usr/share/doc/koord", "usr/share/doc/koord/examples", "usr/share/bash-completion", "usr/share/bash-completion/completions",
           "usr/share/zsh", "usr/share/zsh/site-functions")
# tmpfiles.d gives it to the group koord, which is not there before the package is.
UNLOOKED_AT = {"etc/koord": "%verify(not mode group) "}
DEFINES = {
    "debug_package": "%{nil}", "__os_install_post": "%{nil}", "_build_id_links": "none", "_buildhost": "koord", "_binary_payload": "w1.xzdio",
    "use_source_date_epoch_as_buildtime": "1", "clamp_mtime_to_source_date_epoch": "1", "source_date_epoch_from_changelog": "0",
    "_build_name_fmt": "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
}


def missing():
    return None if shutil.which("rpmbuild") else "rpmbuild is missing: apt-get install rpm"


def build(stage, version, out):
    """Returns the path of the package."""
    stage.fill(units="usr/lib/systemd/system", zsh="usr/share/zsh/site-functions")
    stage.add("usr/share/doc/koord/LICENSE", layout.text_of(layout.TREE, "LICENSE"))
    def row(path):
        mode = "" if os.path.islink(os.path.join(stage.folder, path)) else f"%attr({'0755' if path.startswith('usr/bin/') else '0644'}, root, root) "
        return f"{'%config(noreplace) ' if path in stage.configuration else ''}{mode}/{path}"

    files = [row(path) for path in sorted(stage.files)] + [f"%dir %attr(0755, root, root) {UNLOOKED_AT.get(path, '')}/{path}" for path in FOLDERS]
    parts = {name: layout.script(name.replace("_", "-")).replace("%", "%%") for name in ("after_install", "before_remove", "after_remove", "purge")}
    target = ARCHITECTURES[stage.build.architecture]
    with tempfile.TemporaryDirectory(prefix="koord-rpm.") as folder:
        spec = os.path.join(folder, "koord.spec")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(SPEC.format(version=version, summary=layout.SUMMARY.capitalize().replace("kubernetes", "Kubernetes"), maintainer=layout.MAINTAINER, description=layout.DESCRIPTION,
                                   stage=os.path.abspath(stage.folder), files="\n".join(files),
                                   date=time.strftime("%a %b %d %Y", time.gmtime(stage.epoch)), **parts))
        defines = {**DEFINES, "_topdir": os.path.join(folder, "top"), "_rpmdir": os.path.join(folder, "rpms")}
        words = [word for name, value in defines.items() for word in ("--define", f"{name} {value}")]
        done = subprocess.run(["rpmbuild", "-bb", "--quiet", "--nodeps", "--target", f"{target}-linux", *words, spec],
                              env={**os.environ, "SOURCE_DATE_EPOCH": str(stage.epoch), "LC_ALL": "C"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"rpmbuild: {done.stdout}")
        name, = os.listdir(os.path.join(folder, "rpms"))
        return shutil.copy(os.path.join(folder, "rpms", name), out)
