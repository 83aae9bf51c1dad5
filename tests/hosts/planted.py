"""Drift of many kinds, each planted with one command, and what a check has to say of it: no more and no less."""

import dataclasses
import enum
import fnmatch

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA stranger"


class Restored(enum.StrEnum):
    """What restores a planted drift, the least first: each also does what those before it do."""

    UP = "up"
    FIX = "fix"
    BOOT = "boot"
    """A reboot, which `fix` does where its kind is named."""
    REBUILD = "rebuild"


@dataclasses.dataclass(frozen=True, slots=True)
class Plant:
    """One planted drift."""

    name: str
    host: str
    command: str
    expected: tuple[str, ...]
    """`layer code where` of each finding."""
    ends: tuple[str, ...] = ()
    """Patterns of earlier findings that it puts an end to."""
    restored: Restored = Restored.FIX
    is_outside: bool = False
    """The command runs on the machine, in the host's network: the host has no program for it."""


def awk_package(name: str, line: str) -> str:
    """Change the version that dpkg's list gives for a package."""
    return f"awk -v RS= -v ORS='\\n\\n' '/^Package: {name}\\n/ {{ sub(/\\nVersion: [^\\n]*/, \"\\n{line}\") }} 1' /var/lib/dpkg/status > /tmp/status && cp /tmp/status /var/lib/dpkg/status"


def sacctmgr(words: str) -> str:
    return f"sacctmgr --immediate {words}"


FILES = (
    Plant("a setting of the SSH server edited", "train-0", "echo PermitRootLogin yes >> /etc/ssh/sshd_config.d/clusterwright.conf",
          ("hosts CW721 train-0: /etc/ssh/sshd_config.d/clusterwright.conf",)),
    Plant("a local user added", "train-0", "echo 'eve:x:0:0::/root:/bin/sh' >> /etc/passwd", ("hosts CW721 train-0: /etc/passwd",)),
    Plant("a cron job added", "train-0", "mkdir -p /etc/cron.d && echo '* * * * * root true' > /etc/cron.d/extra", ("hosts CW723 train-0: /etc/cron.d*",)),
    Plant("a mode opened", "train-0", "chmod 0666 /etc/nsswitch.conf", ("hosts CW724 train-0: /etc/nsswitch.conf",)),
    Plant("an owner changed", "train-0", "chown nobody /etc/sysctl.d/60-clusterwright.conf", ("hosts CW724 train-0: /etc/sysctl.d/60-clusterwright.conf",)),
    Plant("a written file removed", "train-0", "rm /etc/systemd/journald.conf.d/clusterwright.conf", ("hosts CW722 train-0: /etc/systemd/journald.conf.d/clusterwright.conf",)),
    Plant("a link turned", "train-0", "ln -sfn /usr/bin/mawk /etc/alternatives/awk", ("hosts CW725 train-0: /etc/alternatives/awk",)),
    Plant("a file made a link", "train-0", "ln -sfn /etc/debian_version /etc/issue.net", ("hosts CW725 train-0: /etc/issue.net",)),
    Plant("a folder with programs added", "train-0", "mkdir /opt/tool && echo hello > /opt/tool/run", ("hosts CW723 train-0: /opt/tool",)),
    Plant("a boot program edited", "train-0", "echo '# edited' >> /usr/lib/clusterwright/boot", ("hosts CW721 train-0: /usr/lib/clusterwright/boot",)),
    Plant("a unit unmasked", "train-0", "rm /etc/systemd/system/fstrim.timer", ("hosts CW733 train-0: unit fstrim.timer",)),
    Plant("a unit masked", "train-0", "ln -s /dev/null /etc/systemd/system/haproxy.service", ("hosts CW733 train-0: unit haproxy.service",)),
    Plant("a unit disabled", "train-0", "rm /etc/systemd/system/multi-user.target.wants/slurmd.service", ("hosts CW733 train-0: unit slurmd.service",)),
    Plant("a unit enabled", "train-0", "ln -s /usr/lib/systemd/system/debug-shell.service /etc/systemd/system/multi-user.target.wants/",
          ("hosts CW733 train-0: unit debug-shell.service",)),
    Plant("a kernel setting changed", "train-0", "sysctl -q -w net.ipv4.ip_forward=1", ("hosts CW735 train-0: sysctl net.ipv4.ip_forward",)),
    Plant("a stranger's key for root", "train-0", f"echo '{KEY}' >> /root/.ssh/authorized_keys", ("hosts CW740 train-0: root's key*",)),
    Plant("a stranger's key for a user", "login-0", f"sed -i '/^# END clusterwright/i {KEY}' /home/ada/.ssh/authorized_keys", ("hosts CW744 user ada: key *",)),
    Plant("another MUNGE key", "login-0", "head -c 128 /dev/urandom > /etc/munge/munge.key", ("hosts CW741 login-0: MUNGE key",)),
    Plant("a configuration not taken over", "control-0", "mkdir -p /run/clusterwright/pending && touch /run/clusterwright/pending/database",
          ("hosts CW743 control-0: pending database",)),
    Plant("the greeting edited", "login-0", "echo hello >> /etc/motd", ("hosts CW721 login-0: /etc/motd",)),
    Plant("a user of the cluster added", "control-0", "echo 'eve:x:2666:2666::/home/eve:/bin/bash' >> /var/lib/clusterwright/cluster/users/passwd",
          ("hosts CW738 control-0: user eve",), restored=Restored.UP),
    Plant("somebody made an administrator", "control-0", "sed -i 's/^cluster-admin:.*/&ada/' /var/lib/clusterwright/cluster/users/group",
          ("hosts CW745 control-0: administrator ada",), restored=Restored.UP),
    Plant("a user's shell changed", "control-0", "sed -i s,/home/ada:/bin/bash,/home/ada:/bin/sh, /var/lib/clusterwright/cluster/users/passwd",
          ("hosts CW739 control-0: user ada",), restored=Restored.UP),
)  # fmt: skip

RECORDED = (
    Plant("a library loaded into every program", "train-1", "touch /etc/ld.so.preload", ("hosts CW723 train-1: /etc/ld.so.preload",)),
    Plant("a login without a password", "train-1", "sed -i '1i auth sufficient pam_permit.so' /etc/pam.d/su", ("hosts CW721 train-1: /etc/pam.d/su",)),
    Plant("somebody may become root", "train-1", "echo 'eve ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/eve", ("hosts CW723 train-1: /etc/sudoers.d/eve",)),
    Plant("a rule of udev", "train-1", "mkdir -p /etc/udev/rules.d && touch /etc/udev/rules.d/99-extra.rules", ("hosts CW723 train-1: /etc/udev*",)),
    Plant("a module that may not load", "train-1", "mkdir -p /etc/modprobe.d && echo 'blacklist nfs' > /etc/modprobe.d/extra.conf", ("hosts CW723 train-1: /etc/modprobe.d*",)),
    Plant("another source of packages", "train-1", "echo 'deb [trusted=yes] http://192.0.2.1/ ./' > /etc/apt/sources.list.d/extra.list", ("hosts CW723 train-1: /etc/apt/sources.list.d/extra.list",)),
    Plant("a pin of packages", "train-1", "printf 'Package: *\nPin: release *\nPin-Priority: 1001\n' > /etc/apt/preferences.d/extra", ("hosts CW723 train-1: /etc/apt/preferences.d/extra",)),
    Plant("a variable for everybody", "train-1", "echo 'LD_PRELOAD=/tmp/x.so' >> /etc/environment", ("hosts CW72[13] train-1: /etc/environment",)),
    Plant("a program at each login", "train-1", "echo true > /etc/profile.d/extra.sh", ("hosts CW723 train-1: /etc/profile.d/extra.sh",)),
    Plant("a drop-in of a unit", "train-1", "mkdir -p /etc/systemd/system/ssh.service.d && touch /etc/systemd/system/ssh.service.d/extra.conf", ("hosts CW723 train-1: /etc/systemd/system/ssh.service.d*",)),
    Plant("a format of programs", "train-1", "mkdir -p /etc/binfmt.d && touch /etc/binfmt.d/extra.conf", ("hosts CW723 train-1: /etc/binfmt.d*",)),
    Plant("a user's crontab", "train-1", "mkdir -p /var/spool/cron/crontabs && echo '* * * * * true' > /var/spool/cron/crontabs/ada", ("hosts CW723 train-1: /var/spool/cron*",)),
    Plant("an at job", "train-1", "mkdir -p /var/spool/cron/atjobs && touch /var/spool/cron/atjobs/a0000101", ("hosts CW723 train-1: /var/spool/cron/atjobs*",)),
    Plant("a shell that may log in", "train-1", "echo /bin/cat >> /etc/shells", ("hosts CW721 train-1: /etc/shells",)),
    Plant("a rule of who may connect", "train-1", "echo 'ALL: ALL' >> /etc/hosts.allow", ("hosts CW72[13] train-1: /etc/hosts.allow",)),
)  # fmt: skip
"""Below places that a host records."""

UNRECORDED = (
    Plant("MUNGE's key for everybody", "train-1", "chmod 0644 /etc/munge/munge.key", ("hosts CW724 train-1: /etc/munge/munge.key",)),
    Plant("a host key for everybody", "train-1", "chmod 0644 /etc/ssh/ssh_host_ed25519_key", ("hosts CW724 train-1: /etc/ssh/ssh_host_ed25519_key",)),
    Plant("a folder of secrets for everybody", "login-0", "chmod 0755 /etc/clusterwright/secrets", ("hosts CW724 login-0: /etc/clusterwright/secrets",)),
    Plant("another DNS server", "train-1", "echo nameserver 192.0.2.53 > /etc/resolv.conf", ("hosts CW716 train-1: DNS servers",), restored=Restored.BOOT),
    Plant("another time zone", "login-0", "ln -sfn /usr/share/zoneinfo/Asia/Tokyo /etc/localtime", ("hosts CW716 login-0: time zone",)),
    Plant("an authority that programs trust", "train-1", "echo more >> /etc/ssl/certs/ca-certificates.crt", ("hosts CW716 train-1: trusted authorities",)),
    Plant("another hostname", "login-0", "hostname elsewhere", ("hosts CW717 login-0: hostname",)),
    Plant("another MTU", "train-1", "ip link set host0 mtu 1400", ("hosts CW716 train-1: MTU of host0",)),
    Plant("a route into nowhere", "train-1", "ip route add blackhole 192.0.2.0/24", ("hosts CW715 train-1: routes",)),
    Plant("a routing rule", "train-1", "ip rule add from 192.0.2.1 table 100", ("hosts CW715 train-1: routing rules",)),
    Plant("a rule of the packet filter", "train-1", "iptables -w -A INPUT -p tcp --dport 9 -j DROP", ("hosts CW714 train-1: packet filter",), is_outside=True),
    Plant("a kernel setting that no file declares", "train-1", "sysctl -q -w net.ipv4.conf.all.rp_filter=1", ("hosts CW716 train-1: sysctl net.ipv4.conf.all.rp_filter",)),
    Plant("a unit created at run time", "train-1", "systemd-run --quiet --unit=backdoor sleep 100000", ("hosts CW713 train-1: unit backdoor.service",)),
    Plant("a drop-in until the next boot", "train-1", "mkdir -p /run/systemd/system/ssh.service.d && touch /run/systemd/system/ssh.service.d/extra.conf",
          ("hosts CW713 train-1: /run/systemd/system/ssh.service.d/extra.conf",)),
    Plant("a unit that no package owns", "train-1", "touch /usr/lib/systemd/system/extra.service", ("hosts CW712 train-1: /usr/lib/systemd/system/extra.service",)),
    Plant("a program that no package owns", "train-1", "cp /bin/true /usr/bin/extra", ("hosts CW712 train-1: /usr/bin/extra",)),
    Plant("a module of PAM that no package owns", "train-1", "install -m 0644 /bin/true $(dirname $(find /usr/lib -name pam_unix.so))/pam_extra.so", ("hosts CW712 train-1: /usr/lib/*/security/pam_extra.so",)),
    Plant("a plug-in of Slurm that no package owns", "train-1", "install -m 0644 /bin/true $(dirname $(find /usr/lib -name select_cons_tres.so))/spank_extra.so", ("hosts CW712 train-1: /usr/lib/*/spank_extra.so",)),
    Plant("a start file of Python that no package owns", "train-1", "echo import os > /usr/lib/python3/dist-packages/extra.pth", ("hosts CW712 train-1: /usr/lib/python3/dist-packages/extra.pth",)),
    Plant("a program of a package replaced", "train-1", "cp /bin/true /usr/bin/newgrp", ("hosts CW730 train-1: /usr/bin/newgrp",), restored=Restored.REBUILD),
    Plant("a setuid program that no package owns", "train-1", "cp /bin/true /usr/bin/helper && chmod 4755 /usr/bin/helper", ("hosts CW710 train-1: /usr/bin/helper",)),
    Plant("a program of a package made setuid", "train-1", "chmod u+s /usr/bin/find", ("hosts CW710 train-1: /usr/bin/find",)),
    Plant("a setuid program below a recorded folder", "train-1", "cp /bin/true /usr/local/bin/helper && chmod 4755 /usr/local/bin/helper", ("hosts CW710 train-1: /usr/local/bin/helper",)),
    Plant("a setuid program in a folder for everybody", "train-1", "cp /bin/true /var/tmp/helper && chmod 4755 /var/tmp/helper", ("hosts CW710 train-1: /var/tmp/helper",)),
    Plant("a program with a capability", "train-1", "setcap cap_setuid+ep /usr/bin/mawk", ("hosts CW710 train-1: /usr/bin/mawk",)),
    Plant("a folder that everybody may write to", "train-1", "mkdir /var/lib/open && chmod 0777 /var/lib/open", ("hosts CW711 train-1: /var/lib/open",)),
    Plant("a program that everybody may write to", "train-1", "chmod o+w /usr/bin/chfn", ("hosts CW711 train-1: /usr/bin/chfn",)),
    Plant("root's shell started otherwise", "train-1", "echo true >> /root/.bashrc", ("hosts CW746 train-1: /root/.bashrc",)),
    Plant("a program at each login of root", "train-1", "echo true > /root/.ssh/rc", ("hosts CW746 train-1: /root/.ssh/rc",)),
    Plant("a key for a user of the system", "train-1", f"mkdir -p /var/backups/.ssh && echo '{KEY}' > /var/backups/.ssh/authorized_keys", ("hosts CW747 train-1: /var/backups/.ssh/authorized_keys",)),
    Plant("a program that listens", "train-1", "setsid python3 -m http.server 9999 < /dev/null > /dev/null 2>&1 & timeout 60 sh -c 'until ss -Htln sport = :9999 | grep -q LISTEN; do sleep 0.1; done'",
          ("hosts CW718 train-1: port 9999",)),
    Plant("a program without a file", "train-1", "cp /bin/sleep /var/tmp/ghost && { setsid /var/tmp/ghost 100000 < /dev/null > /dev/null 2>&1 & } && timeout 60 sh -c 'until pidof ghost; do sleep 0.1; done' && rm /var/tmp/ghost",
          ("hosts CW734 train-1: process ghost",)),
    Plant("a file system over a folder of the system", "train-1", "mount -t tmpfs none /usr/share/doc", ("hosts CW719 train-1: mount /usr/share/doc",)),
)  # fmt: skip
"""Where no record reaches. A program of a package comes back from its archive, but not on train-1, where a plant below keeps apt from installing anything."""

PACKAGES = (
    Plant("a hold removed", "train-0", "echo slurmd install | dpkg --set-selections", ("hosts CW729 train-0: package slurmd",)),
    Plant("a hold added", "train-0", "echo bash hold | dpkg --set-selections", ("hosts CW729 train-0: package bash",)),
    Plant("a package removed", "train-0", "dpkg --remove --force-depends python3-apt", ("hosts CW726 train-0: package python3-apt",)),
    Plant("a package added", "train-0",
          "mkdir -p /tmp/deb/DEBIAN && printf 'Package: handmade\\nVersion: 1\\nArchitecture: all\\nMaintainer: me <me@example.org>\\nDescription: by hand\\n' > /tmp/deb/DEBIAN/control "
          "&& dpkg-deb --build /tmp/deb /tmp/handmade.deb && dpkg --install /tmp/handmade.deb", ("hosts CW727 train-0: package handmade",)),
    Plant("a package of another version", "login-0", awk_package("procps", "Version: 2:9.9"), ("hosts CW728 login-0: package procps",)),
    Plant("another Slurm on one node", "train-1", awk_package("slurmd", "Version: 99.1.0-1"), ("hosts CW728 train-1: package slurmd", "versions CW770 train-1: slurm"), restored=Restored.REBUILD),
    Plant("a program of a held package replaced", "train-0", "cp /bin/true /usr/sbin/slurmdbd", ("hosts CW730 train-0: /usr/sbin/slurmdbd",)),
    Plant("another operating system on one node", "train-1", "sed -i 's/^VERSION_ID=.*/VERSION_ID=\"99\"/' /usr/lib/os-release", ("versions CW770 train-1: os",), restored=Restored.REBUILD),
    Plant("CUDA on one node only", "train-0", "mkdir /usr/local/cuda && echo '{\"cuda\": {\"name\": \"CUDA SDK\", \"version\": \"12.4.1\"}}' > /usr/local/cuda/version.json",
          ("hosts CW723 train-0: /usr/local/cuda", "versions CW771 train-0: cuda")),
    Plant("a unit failed", "train-1", "systemd-run --quiet --wait --unit=oops --property=RemainAfterExit=no /bin/false || true", ("hosts CW732 train-1: unit oops.service",)),
    Plant("a GPU gone", "train-0", "rm /dev/nvidia3", ("capability CW780 train-0: GPU 3",)),
    Plant("a GPU that nobody may open", "train-0", "chmod 0600 /dev/nvidia5", ("capability CW782 train-0: GPU 5",)),
    Plant("a GPU too many", "train-1", "mknod -m 0666 /dev/nvidia8 c 60 8", ("capability CW781 train-1: GPU 8",)),
    Plant("a file system not mounted", "train-1", "umount /shared", ("capability CW783 train-1: mount /shared",), restored=Restored.BOOT),
    Plant("a file system read-only", "login-0", "mount -o remount,ro,bind /home", ("capability CW784 login-0: mount /home",)),
    Plant("another file system in its place, and full", "train-0", "mount -t tmpfs -o size=1M none /shared && (head -c 2M /dev/zero > /shared/full || true)",
          ("capability CW784 train-0: mount /shared", "capability CW785 train-0: space of /shared"), restored=Restored.REBUILD),
)  # fmt: skip

SCHEDULER = (
    Plant("slurm.conf edited and taken over", "control-0",
          "sed -i s/MessageTimeout=30/MessageTimeout=31/ /etc/slurm/slurm.conf && echo 'NodeName=ghost-0 NodeAddr=127.0.0.9 CPUs=1 State=UNKNOWN' >> /etc/slurm/slurm.conf && scontrol reconfigure && timeout 60 sh -c 'until scontrol show node ghost-0; do sleep 0.2; done'",
          ("hosts CW721 control-0: /etc/slurm/slurm.conf", "scheduler CW751 slurmctld: MessageTimeout", "scheduler CW753 node ghost-0")),
    Plant("a partition added", "control-0", "scontrol create partition=extra nodes=train-0", ("scheduler CW758 partition extra",)),
    Plant("a limit of a partition changed", "control-0", "scontrol update partitionname=train maxtime=2:00:00", ("scheduler CW759 partition train: MaxTime",)),
    Plant("a partition closed to others", "control-0", "scontrol update partitionname=train allowgroups=root", ("scheduler CW759 partition train: AllowGroups",)),
    Plant("a node drained", "control-0", "scontrol update nodename=train-1 state=drain reason='bad fan'", ("scheduler CW755 node train-1: drained",)),
    Plant("another level of messages", "control-0", "scontrol setdebug debug2", ("scheduler CW751 slurmctld: SlurmctldDebug",)),
    Plant("a feature added to a node", "control-0", "scontrol update nodename=train-0 availablefeatures=h100,fast", ("scheduler CW754 node train-0: Feature",)),
    Plant("a node's weight changed", "control-0", "scontrol update nodename=train-0 weight=7", ("scheduler CW754 node train-0: Weight",)),
    Plant("an account added", "control-0", sacctmgr("add account guests description=visitors organization=none"), ("scheduler CW761 account guests",)),
    Plant("a limit of an account set", "control-0", sacctmgr("modify account research set grptres=gres/gpu=4"), ("scheduler CW762 account research: grptres",)),
    Plant("an account described otherwise", "control-0", sacctmgr("modify account where name=research set description=other"), ("scheduler CW762 account research: description",)),
    Plant("a QOS changed", "control-0", sacctmgr("modify qos normal set priority=10"), ("scheduler CW767 QOS normal: priority",)),
    Plant("a QOS added", "control-0", sacctmgr("add qos fast"), ("scheduler CW766 QOS fast",)),
    Plant("a user given an account", "control-0", sacctmgr("add user bob account=research"), ("scheduler CW764 account research: user bob",)),
    Plant("a user made operator", "control-0", sacctmgr("modify user ada set adminlevel=operator"), ("scheduler CW768 user ada: admin level",)),
    Plant("a user made coordinator", "control-0", sacctmgr("add coordinator account=research names=ada"), ("scheduler CW768 account research: user ada: coordinator",)),
    Plant("nodes reserved", "control-0", "scontrol create reservation reservationname=mine users=root starttime=now duration=60 nodes=train-0", ("scheduler CW769 reservation mine",)),
)  # fmt: skip

DAEMONS = (
    Plant("a user without the account", "control-0", sacctmgr("delete user where name=ada account=research"), ("scheduler CW763 account research: user ada",),
          ends=("scheduler CW768 *",)),
    Plant("MUNGE disabled on a node", "train-0", "systemctl disable --now munge", ("hosts CW733 train-0: unit munge.service",)),
    Plant("MUNGE stopped on the login node", "login-0", "systemctl stop munge", ("hosts CW731 login-0: unit munge.service",)),
    Plant("slurmdbd stopped", "control-0", "systemctl stop slurmdbd", ("hosts CW731 control-0: unit slurmdbd.service",),
          ends=("scheduler CW76[0-8] *",)),
)  # fmt: skip

LAST = (
    Plant("slurmctld stopped", "control-0", "systemctl stop slurmctld", ("hosts CW731 control-0: unit slurmctld.service",), ends=("scheduler *",)),
)  # fmt: skip

DKMS_BEHIND = "for kernel in /lib/modules/*/kernel; do mkdir -p $kernel/../updates/dkms && touch $kernel/../updates/dkms/nvidia.ko; done"
SERVERS = (
    Plant("a server's mark removed", "gpu-1", "rm /etc/clusterwright/owner.json", ("hosts CW950 gpu-1: mark",), restored=Restored.UP),
    Plant("a server taken by another stack", "gpu-2", """sed -i 's/"token": "[^"]*"/"token": "theirs"/' /etc/clusterwright/owner.json""", ("hosts CW951 gpu-2: mark",)),
    Plant("another machine-id", "gpu-3", "echo 0123456789abcdef0123456789abcdef > /etc/machine-id", ("hosts CW952 gpu-3: machine-id",)),
    Plant("a kernel without the modules that DKMS built", "login-1",
          f"{DKMS_BEHIND}; touch /boot/vmlinuz-9.9.9-lab",
          ("hosts CW958 login-1: next start",)),
    Plant("a package that is no longer held", "gpu-2", "apt-mark unhold slurm-client", ("hosts CW729 gpu-2: package slurm-client",)),
    Plant("automatic updates on again", "gpu-3",
          "rm /etc/systemd/system/apt-daily-upgrade.timer /etc/apt/apt.conf.d/99clusterwright",
          ("hosts CW733 gpu-3: unit apt-daily-upgrade.timer", "hosts CW722 gpu-3: /etc/apt/apt.conf.d/99clusterwright")),
)  # fmt: skip
"""Of servers that exist already."""

ADOPTED = (
    Plant("a server's mark removed", "gpu-001", "rm /etc/clusterwright/owner.json", ("hosts CW950 gpu-001: mark",)),
    Plant("a mode opened", "gpu-001", "chmod 0666 /etc/nsswitch.conf", ("hosts CW724 gpu-001: /etc/nsswitch.conf",)),
    Plant("a unit masked", "gpu-001", "ln -sf /dev/null /etc/systemd/system/cron.service", ("hosts CW733 gpu-001: unit cron.service",)),
    Plant("another MTU of a rail", "gpu-001", "ip link set eth1 mtu 1500", ("hosts CW955 gpu-001: MTU of rail1",)),
    Plant("a stranger's key of root", "gpu-001", f"echo '{KEY}' >> /root/.ssh/authorized_keys", ("hosts CW740 gpu-001: root's key AAAAAAAAAAAA",)),
    Plant("a hold removed", "gpu-001", "echo slurmd install | dpkg --set-selections", ("hosts CW729 gpu-001: package slurmd",)),
    Plant("a local user added", "gpu-002", "echo 'eve:x:0:0::/root:/bin/sh' >> /etc/passwd", ("hosts CW721 gpu-002: /etc/passwd",)),
    Plant("another password of root", "gpu-001", "usermod --password known root", ("hosts CW721 gpu-001: /etc/shadow",)),
    Plant("a name added", "gpu-002", "echo '192.0.2.9 mirror' >> /etc/hosts", ("hosts CW721 gpu-002: /etc/hosts",)),
    Plant("a route of a rail removed", "gpu-002", "ip route del 10.40.0.0/16 dev eth1", ("hosts CW955 gpu-002: route to 10.40.0.0/16 of rail1",)),
    Plant("a rule of a rail removed", "gpu-002", "ip rule del from $(ip -4 -o address show dev eth1 | awk '{ sub(\"/.*\", \"\", $4); print $4 }')", ("hosts CW955 gpu-002: routing rule of rail1",)),
    Plant("another key of MUNGE", "gpu-002", "head -c 128 /dev/urandom > /etc/munge/munge.key", ("hosts CW741 gpu-002: MUNGE key",)),
    Plant("a package removed", "login-1", "dpkg --remove --force-depends pciutils", ("hosts CW726 login-1: package pciutils",)),
    Plant("a package of another version", "login-1", awk_package("ethtool", "Version: 1:1"), ("hosts CW728 login-1: package ethtool",)),
    Plant("MUNGE stopped", "login-1", "systemctl stop munge", ("hosts CW731 login-1: unit munge.service",)),
)  # fmt: skip
"""Of servers that exist already, with an interface `rail1`: all of it is repaired."""

BATCHES = ((*RECORDED, *UNRECORDED, *FILES), (*PACKAGES, *SCHEDULER), DAEMONS, LAST)
"""What is planted together, before one check."""


def expected(so_far: list[str], plants: tuple[Plant, ...]) -> list[str]:
    """Give what a check has to find after these plants, as patterns."""
    for plant in plants:
        so_far = [one for one in so_far if not any(fnmatch.fnmatchcase(one, ended) for ended in plant.ends)] + list(plant.expected)
    return so_far


def mismatch(found: list[str], patterns: list[str]) -> tuple[list[str], list[str]]:
    """Give (what was found and not expected, what was expected and not found)."""
    extra = [one for one in found if not any(one == pattern or fnmatch.fnmatchcase(one, pattern) for pattern in patterns)]
    missing = [pattern for pattern in patterns if not any(one == pattern or fnmatch.fnmatchcase(one, pattern) for one in found)]
    return extra, missing
