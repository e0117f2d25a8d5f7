"""The goal of a search: a run, its deadline and budget, and the machines that may be hired for it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.problem import Words
from perfmodel.core.records.names import Meaning, Named, meaning, taken_as
from perfmodel.core.records.record import fresh
from perfmodel.core.units import many
from perfmodel.decide.failures import USUAL_CHECKPOINT_BANDWIDTH
from perfmodel.decide.planning.within import Limits
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.releases import software_id
from perfmodel.hardware.software import DEFAULT_SOFTWARE
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.layout import CHOSEN
from perfmodel.model.options.run import Run, Shared
from perfmodel.model.prediction.names import network_name
from perfmodel.model.prediction.training.target import on_its_own_data, recipe_of, target_tokens, with_target
from perfmodel.model.setting.named import meaning_of
from perfmodel.model.setting.sharing import SUMS, predicts_tokens
from perfmodel.model.transformers.usual_batch import usual_batch
from perfmodel.workloads import workload
from perfmodel.workloads.catalogue import LENGTHS
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit, epochs_fit
from perfmodel.workloads.recipes.recipes import Recipe, benchmark_of
from perfmodel.workloads.recipes.token_recipes import NAME as TOKENS
from perfmodel.workloads.recipes.token_recipes import token_recipe
from perfmodel.workloads.workload import Workload

SHARED: Final = tuple(Shared.model_fields)
"""Options of a scenario that are the same for every candidate."""
ALGORITHMS: Final = ("auto",)
"""Algorithms tried by default: NCCL's own choice."""
OF_SCENARIO: Final = (
    "node",
    "accelerator",
    "world_size",
    "strategy",
    "algorithm",
    "servers",
    "server_node",
    "precision",
    "local_batch_size",
    "framework",
)
"""Options of a scenario that a plan decides, by the names of its row."""
OF_LAYOUT: Final = (*CHOSEN, "accumulation_steps")
"""Options of a scenario that a plan with a layout decides, by the names of its layout."""
BATCH_TOO_LARGE = "batch.too_large"
"""Subject of the reason why a data-parallel plan with too large a batch is left out."""
LARGE = 1e9
"""Parameters of a network above which a job is assumed to have failures by default (a choice)."""
USUAL_FAILURE_INTERVAL = 2048 * 54 * 86400 / 419
"""Mean time between failures of one machine [s]: 2,048 machines of eight H100 had 419 unexpected
interruptions in 54 days (Grattafiori et al. 2024, section 3.3.4)."""
TUNED: Final = ("lora", "frozen_weights")
"""Options of a fine-tuning that trains adapters alone."""
LIKE: Final = {"image": "resnet50", "sequence": "bert"}
"""Benchmark with the largest published batches, by type of sample."""


class Goal(Run):
    """A ``Run`` with its conditions and what follows from both.

    Parameters
    ----------
    conditions : Region, power and failures; its own prices and length of a run are not used.
    options : Of every candidate's scenario alike.
    meant : What was taken for names that fit several things, and for recipes of several runs; filled in here.
    """

    conditions: Conditions = Conditions()
    options: Mapping[str, Any] = fresh(dict)
    meant: tuple[str, ...] = ()

    def by_id(self, catalogue: Catalogue) -> Self:
        """Return the goal with every name replaced by an id of the catalogue.

        Raises
        ------
        InputError : an unknown name, or one of several things of which none is the most common
        """
        notes: list[str] = []

        def ids(field: str, names: Iterable[str]) -> tuple[str, ...]:
            each: dict[str, None] = {}
            for name in names:
                meant = meaning_of(field, name, catalogue)
                each[meant.id] = None
                notes.extend([str(meant)] if meant.others else [])
            return tuple(each)

        def offer(name: str) -> str:
            meant = _offer(name, catalogue)
            notes.extend([taken_as(name, meant.id, meant.others)] if meant.others else [])
            return meant.id

        return self.model_copy(
            update={
                "workload": ids("workload", (self.workload,))[0],
                "accelerators": ids("accelerator", self.accelerators),
                "instances": tuple(map(offer, self.instances)),
                "nodes": ids("node", self.nodes),
                "meant": tuple(notes),
            }
        )

    def check(self) -> None:
        """Raise an InputError for an unknown option, two lengths of the run, or a length with a target."""
        for name in self.options:
            if name not in SHARED:
                raise unknown_name("option of every candidate", name, SHARED)
        lengths = [name for name in ("epochs", "samples", "tokens") if getattr(self, name) is not None]
        if lengths == ["epochs", "samples"]:
            raise refusal("length.both")
        if len(lengths) > 1:
            raise refusal("options.one_of", known=Words(" and ".join(f"--{name}" for name in lengths)))
        if lengths and self.target is not None:
            raise refusal("length.and_target", lengths[0])
        if self.recipe is not None and lengths and (lengths, self.recipe) != (["tokens"], TOKENS):
            raise refusal("recipe.without_target", lengths[0])
        if self.recipe not in (None, "mlperf") and self.target is not None:
            raise refusal("recipe.of_mlperf", target=self.target, recipe=self.recipe)

    @property
    def limits(self) -> Limits:
        """What the run must keep within."""
        return Limits(self.deadline, self.budget, self.confidence)

    @property
    def to_target(self) -> bool:
        """Whether the run ends at a published quality."""
        return self.epochs is None and self.samples is None and self.tokens is None

    @property
    def limits_gpus(self) -> bool:
        """Whether the largest number of GPUs was given."""
        return "max_gpus" in self.model_fields_set

    @property
    def purpose(self) -> str:
        """What the run does, to which network: fine-tune it by adapters, or train it, on how many tokens."""
        verb = "fine-tune" if any(map(self.options.get, TUNED)) else "train"
        length = "" if self.tokens is None else f" on {many(self.tokens)} tokens"
        return f"{verb} {network_name(self.workload)}{length}"

    def by_model(self, network: Workload) -> tuple[Self | None, Self | None]:
        """Return the goals of data-parallel plans and of plans with a layout; None where no strategy suits.

        Networks that predict the next token have layouts; with a strategy that no layout supports they are
        data-parallel.  Other networks are always data-parallel.
        """
        if not predicts_tokens(network):
            return self, None
        strategies = self.strategies or ("all-reduce",)
        data_parallel, with_layout = (
            tuple(name for name in strategies if (name in SUMS) is summed) for summed in (False, True)
        )
        return (
            self.model_copy(update={"strategies": data_parallel}) if data_parallel else None,
            self.model_copy(update={"strategies": with_layout}) if with_layout else None,
        )

    def under(self, framework: str | None) -> Self:
        """Return the goal with the framework of every candidate set; unchanged for None."""
        if framework is None:
            return self
        return self.model_copy(update={"options": {**self.options, "framework": framework}})

    def most_gpus(self, held: int, joins: bool) -> int:
        """Return the largest number of GPUs of a job on one type of machine.

        Parameters
        ----------
        held : accelerators of a machine
        joins : whether the machine has a network to others
        """
        return min(self.max_gpus, held * (self.max_nodes or self.max_gpus) if joins else held)

    def with_failures(self, network: Workload) -> Self:
        """Return the goal with the failure rate and storage of Llama 3's machines for a large transformer.

        Conditions that were given stay.  Other networks have no failures unless a rate is given.
        """
        conditions = self.conditions
        if network.parameters < LARGE or not predicts_tokens(network):
            return self
        failure_interval = (
            USUAL_FAILURE_INTERVAL
            if conditions.node_failure_interval is None
            else conditions.node_failure_interval
        )
        bandwidth = conditions.checkpoint_bandwidth
        if bandwidth is None and conditions.checkpoint_time is None:
            bandwidth = USUAL_CHECKPOINT_BANDWIDTH
        failures = {"node_failure_interval": failure_interval, "checkpoint_bandwidth": bandwidth}
        failing = conditions.model_copy(update=failures)
        return self.model_copy(update={"conditions": failing})

    def completed(self) -> Self:
        """Return the goal with options that its recipe sets and that were not given.

        These are sequence length and optimizer; of the recipe ``tokens`` the number of tokens, which is also
        taken where nothing is said of the length.  The framework depends on the accelerator: see
        ``framework_on``.  A plan is of one run: where the usual recipe of the software has several, MLPerf's
        is taken.
        """
        if self.recipe == TOKENS:
            chosen = self.chosen_recipe()
            return self if chosen is None else self.model_copy(update={"tokens": chosen.tokens})
        chosen = self.chosen_recipe() if self.to_target else None
        if chosen is None:
            return self._of_usual_tokens()
        if chosen.in_phases and self.recipe is None:
            note = (
                f"recipe mlperf is planned with framework {self.options.get('framework')}; the one that goes "
                f"with it, {chosen.name}, has {_phases(chosen)} (--recipe)"
            )
            return self.model_copy(update={"recipe": "mlperf", "meant": (*self.meant, note)}).completed()
        goes_with = {
            "sequence_length": None if chosen.in_phases else target_tokens(self.workload),
            "optimizer": chosen.optimizer,
        }
        new = {name: value for name, value in goes_with.items() if value is not None}
        return self.model_copy(update={"options": {**new, **self.options}, "recipe": chosen.name})

    def _of_usual_tokens(self) -> Self:
        """Return the goal with the usual number of tokens, and a note of it; unchanged where there is none.

        A network that predicts the next token has one where all its weights are trained.
        """
        if not self.to_target or self.target is not None or any(map(self.options.get, TUNED)):
            return self
        network = self.network()
        if not predicts_tokens(network):
            return self
        usual = token_recipe(network)
        note = f"the run has {usual.fit.target}; --tokens changes it"
        return self.model_copy(update={"tokens": usual.tokens, "meant": (*self.meant, note)})

    def framework_on(self, network: Workload, accelerator: Accelerator, catalogue: Catalogue) -> str | None:
        """Return the framework that trains a network on an accelerator; None where any may."""
        named: str | None = self.options.get("framework")
        chosen = self.chosen_recipe() if named is None and self.to_target else None
        usual = None if network.architecture is None else DEFAULT_SOFTWARE
        name = (chosen.framework_on(accelerator) if chosen else named) or usual
        return None if name is None else software_id(name, catalogue)

    def network(self) -> Workload:
        """Return the network, with samples of the given length."""
        return workload(self.workload, *map(self.options.get, LENGTHS))

    def fit(self) -> EpochsFit | None:
        """Return how the epochs to the target grow with the batch; None where the run's length is given.

        Raises
        ------
        InputError : neither a length nor a published target is known; an unknown target; a recipe of several
            runs
        """
        if not self.to_target:
            return None
        on_its_own_data(self.options)
        chosen = self.chosen_recipe()
        if chosen is None:
            raise self._without_length()
        if chosen.in_phases:
            phases = Words(_phases(chosen))
            raise refusal("recipe.phases", chosen=chosen.name, workload=self.workload, phases=phases)
        return chosen.fit

    def _without_length(self) -> InputError:
        """Return the refusal of a run whose length is neither given nor published."""
        if predicts_tokens(self.network()):
            return refusal("length.no_tokens_given", workload=self.workload)
        return refusal("length.no_target", with_target=with_target(), workload=self.workload)

    def chosen_recipe(self) -> Recipe | None:
        """Return the recipe for training to the target; None where none is published."""
        network = self.network()
        tokens = self.tokens if self.recipe == TOKENS else None
        named = self.options.get("framework")
        return recipe_of(network, self.recipe, named, target=self.target, tokens=tokens)

    def most_samples(self, network: Workload) -> float:
        """Return the largest global batch of a candidate.

        Given epochs hold for batches that networks were trained with: larger ones would look faster at no
        cost. Where nothing is published of the workload, the limit is the largest published batch of any
        network on samples of the same type.

        Parameters
        ----------
        network : of the workload, with its samples
        """
        if self.max_global_batch_size is not None:
            return self.max_global_batch_size
        chosen = self.chosen_recipe() if self.to_target else None
        fit = (chosen and chosen.fit) or self.published()
        return (fit or epochs_fit(LIKE.get(network.sample, LIKE["image"]))).largest_batch_size

    def batch_of_layouts(self, network: Workload, world_size: int) -> int:
        """Return the samples of one step of a model-parallel transformer on ``world_size`` accelerators.

        Larger batches are faster, so it is about the largest with which training takes no more tokens: that
        of published runs of this workload, else of any published run on as many tokens or fewer (see
        ``largest_batch_run``), and the power of two below it.
        """
        if self.global_batch_size is not None:
            return self.global_batch_size
        length = int(network.sequence_length or 1)
        chosen = self.chosen_recipe() if self.to_target else None
        fit = (chosen and chosen.fit) or self.published()
        most = self.max_global_batch_size or (fit.largest_batch_size if fit else None)
        if most is not None:
            return usual_batch(world_size, length, most)
        tokens = self.tokens_of(network)
        if not tokens or not predicts_tokens(network):
            return usual_batch(world_size, length)
        most = token_recipe(network, tokens).fit.largest_batch_size
        return usual_batch(world_size, length, most, tokens=most * length)

    def tokens_of(self, network: Workload) -> float:
        """Return the tokens of a run whose length is given; 0 of another."""
        return float(self.tokens or (self.samples or 0.0) * int(network.sequence_length or 1))

    def published(self) -> EpochsFit | None:
        """Return the published epochs of this workload against its batch; None where there are none."""
        benchmark = benchmark_of(self.workload)
        return None if benchmark is None else epochs_fit(benchmark, self.target)


def options_of(plan: Mapping[str, Any], workload: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scenario options of a plan.

    Parameters
    ----------
    plan : a row of ``perfmodel.decide.planning.SearchResult``
    workload, options : of the goal
    """
    decided = {name: plan[name] for name in OF_SCENARIO if plan.get(name) is not None}
    layout = plan.get("layout")
    if layout is not None:
        del decided["local_batch_size"]  # it is the micro-batch
        decided |= {name: layout[name] for name in OF_LAYOUT if layout[name] != 1}
    return {"workload": workload, **options, **decided}


def _phases(chosen: Recipe) -> str:
    """Return the runs of a recipe in words, with the options that plan each."""
    runs = " and then ".join(
        f"--sequence-length {phase.sequence_length} --samples {phase.amount:.0f}" for phase in chosen.phases
    )
    return f"{len(chosen.phases)} runs: plan {runs}"


def _offer(name: str, catalogue: Catalogue) -> Meaning:
    """Return the cloud offer that a name means: its own or its machine's; an unknown name unchanged."""
    nodes = {offer.instance: offer.node for offer in catalogue.instances()}
    if name in nodes:
        return Meaning(name)
    machines = {instance: catalogue.node(node) for instance, node in nodes.items()}
    known = (Named(id, node.aliases, node.family, node.most_common) for id, node in machines.items())
    return meaning("instance", name, known) or Meaning(name)
