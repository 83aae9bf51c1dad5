"""Subjects of findings: fingerprints, ignore files, histories and JSON documents hold their texts."""

import pytest

from blueprints.finding import Position, subject
from blueprints.finding.subject import ObjectKind

TEXTS: list[tuple[subject.Subject, str]] = [
    (Position("a.yaml", 3, 5), "a.yaml:3:5"),
    (subject.HostPart("train-0", "MUNGE key"), "train-0: MUNGE key"),
    (subject.HostFile("train-0", "/etc/motd"), "train-0: /etc/motd"),
    (subject.Unit("train-0", "munge.service"), "train-0: unit munge.service"),
    (subject.Unit("train-0", "x.service", is_of_users=True), "train-0: unit x.service"),
    (subject.Package("train-0", "slurmd"), "train-0: package slurmd"),
    (subject.Sysctl("train-0", "net.ipv4.ip_forward"), "train-0: sysctl net.ipv4.ip_forward"),
    (subject.KernelModule("train-0", "lustre"), "train-0: kernel module lustre"),
    (subject.HostUser("train-0", "ada"), "train-0: user ada"),
    (subject.HostAdministrator("train-0", "ada"), "train-0: administrator ada"),
    (subject.RootKey("train-0", "gQDstrangers"), "train-0: root's key gQDstrangers"),
    (subject.RootKey("train-0"), "train-0: root's key of the stack"),
    (subject.SoftwareVersion("train-0", "driver"), "train-0: driver"),
    (subject.Mount("train-0", "/home"), "train-0: mount /home"),
    (subject.FileSystem("train-0", "/home", "space"), "train-0: space of /home"),
    (subject.Gpu("train-0", 7), "train-0: GPU 7"),
    (subject.Port("train-0", "rdmap0/1"), "train-0: port rdmap0/1"),
    (subject.Port("train-0", "rdmap0/1", "rate"), "train-0: rate of rdmap0/1"),
    (subject.UserKey("ada", "gQDstrangers"), "user ada: key gQDstrangers"),
    (subject.SchedulerObject(ObjectKind.NODE, "train-0"), "node train-0"),
    (subject.SchedulerObject(ObjectKind.PARTITION, "train", "MaxTime"), "partition train: MaxTime"),
    (subject.SchedulerObject(ObjectKind.QOS, "urgent", "priority"), "QOS urgent: priority"),
    (subject.SchedulerObject(ObjectKind.USER, "ada", "default account"), "user ada: default account"),
    (subject.SchedulerObject(ObjectKind.RESERVATION, "x"), "reservation x"),
    (subject.SchedulerObject(ObjectKind.SWITCH, "s0"), "switch s0"),
    (subject.SchedulerObject(ObjectKind.BLOCK, "b0"), "block b0"),
    (subject.SchedulerObject(ObjectKind.ACCOUNT, "research", "fairshare"), "account research: fairshare"),
    (subject.Membership("research", "ada"), "account research: user ada"),
    (subject.Membership("research", "ada", "grpjobs"), "account research: user ada: grpjobs"),
    (subject.Daemon("slurmctld"), "slurmctld"),
    (subject.Daemon("slurmctld", "control-1"), "slurmctld of control-1"),
    (subject.ClusterObject("Node", "train-0"), "Node train-0"),
    (subject.ClusterObject("Deployment", "manager", "system", "spec.replicas"), "Deployment system/manager: spec.replicas"),
    (subject.Parameter("slurmctld", "MpiDefault"), "slurmctld: MpiDefault"),
    (subject.CloudResource("aws:ec2/vpc:Vpc", "network"), "aws:ec2/vpc:Vpc network"),
    (subject.CloudResource("aws:ec2/vpc:Vpc", "network", "tags.owner"), "aws:ec2/vpc:Vpc network: tags.owner"),
    (subject.PendingResource("login-0"), "pending login-0"),
    (subject.Attachment("aws:ec2/vpc:Vpc network", "peering pcx-1"), "aws:ec2/vpc:Vpc network: peering pcx-1"),
    (subject.Instance("i-1"), "instance i-1"),
    (subject.Instance("i-1", "train-0", "security groups"), "instance i-1 (train-0): security groups"),
    (subject.AcceptanceCheck("train-[0-1]", "MPI all-reduce"), "train-[0-1]: MPI all-reduce"),
    (subject.IgnoreEntry("CW721", "login-*"), "ignore CW721 login-*"),
]


@pytest.mark.parametrize(("of", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_the_text_of_a_subject_is_the_same_in_every_version(of: subject.Subject, text: str) -> None:
    assert str(of) == text
