"""`clusterwright kubectl`: kubectl on the cluster of a stack, with a kubeconfig that no file keeps."""

import argparse

from ..engine import commands, kubernetes_access
from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("--user", help="act as this user of the blueprint (default: the stack's administrator)")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- WORDS", help="what kubectl is given (`-- get nodes`)")


def run(given: argparse.Namespace) -> int:
    commands.require()
    words = given.words[1:] if given.words[:1] == ["--"] else given.words
    kubernetes_access.refuse_other_cluster(given.stack, words)
    access = kubernetes_access.of_stack(given.stack)
    kubeconfig = access.kubeconfig(given.user, life_s=kubernetes_access.HOUR_S)
    kubernetes_access.replace_process(access.kubectl(), words, kubeconfig)
    return 0
