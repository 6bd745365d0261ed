"""What tests share that ask koord-scheduler and koord the same, one after the other, with random clusters."""
import collections
import unittest

import reservations
import schedulers

import kube_api
import original_scheduler


class Comparison(unittest.TestCase):
    """`namespaces` are there, and the definitions; `rules`: words, or whatever else is counted in `met`, without which a comparison says
    nothing about the rule behind them."""
    namespaces, rules = (), ()

    @classmethod
    def setUpClass(cls):
        cls.api = kube_api.Api(schedulers.KUBECONFIG)
        schedulers.ensure_namespaces(cls.api, *cls.namespaces)
        reservations.install(schedulers.KUBECONFIG, original_scheduler.CRDS)
        cls.met = collections.Counter()

    def count_words(self, upstream, own):
        """Those of the rules' words that both have said."""
        self.met.update(word for word in self.rules if word in str(upstream) and word in str(own))

    def check(self, differences):
        self.assertEqual(differences, [], "\n" + "\n".join(differences))

    def test_every_rule_has_been_met(self):
        self.assertEqual([word for word in self.rules if not self.met[word]], [])


def for_each_seed(case, seeds, **more):
    """A test for each seed: case.compare(seed, profile), the shipped profiles in turn; `more`: arguments that follow from the seed's number."""
    profiles = list(reservations.PROFILES)
    for number, seed in enumerate(seeds):
        arguments = {name: value(number) for name, value in more.items()}
        setattr(case, f"test_cluster_{seed}", lambda self, seed=seed, profile=profiles[number % len(profiles)], arguments=arguments:
                self.compare(seed, profile, **arguments))
