#!/usr/bin/env python3
"""How fast PyTorch trains and samples the paper's toy flow: the number to beat. Prints one JSON object.

    python3 bench/peer_torch.py --threads 2

The model is tests/golden/torch_flow.py in float32 (joint condition, affine law, L1 distance, lambda 100, Adam), written
for speed, and compared with that file before anything is timed. Several ways of running it are tried for a few steps
each and the fastest is measured:
    networks  separate: A and B one after the other (addmm);  batched: both at once (baddbmm)
    run       eager;  traced: torch.jit.trace
    threads   inside: the operations use them;  blas: only the matrix products do (PyTorch and OpenBLAS keep
              a pool of threads each);  shards: a piece of the batch a Python thread (PyTorch releases the lock while it
              computes), one thread inside each
Steps include forward, backward and Adam, on points that are already there; sampling is the inverse without gradients.
"""
import argparse
import ctypes
import itertools
import json
import os
import pathlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=12, help="hidden layers per network")
    parser.add_argument("--width", type=int, default=64, help="units a hidden layer")
    parser.add_argument("--blocks", type=int, default=4, help="blocks of six coupling layers")
    parser.add_argument("--steps", type=int, default=4, help="steps in one measurement")
    parser.add_argument("--repeat", type=int, default=10, help="measurements, of which the best counts")
    parser.add_argument("--variant", help="networks/run/threads, e.g. batched/eager/inside (default: the fastest)")
    parser.add_argument("--verbose", action="store_true", help="report every variant on standard error")
    return parser.parse_args()


OPTIONS = parse_options()

# Thread counts are read when the libraries load, and OpenBLAS has its own, which torch.set_num_threads does not reach.
os.environ["OMP_NUM_THREADS"] = str(OPTIONS.threads)
os.environ["OPENBLAS_NUM_THREADS"] = str(OPTIONS.threads)
# libgomp's threads spin between operations, on the cores that OpenBLAS's need: many times slower on a shared machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch  # noqa: E402
import torch.nn.functional as functional  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "golden"))
import torch_flow as reference  # noqa: E402

SIX_MASKS = ((0, 1, 0), (1, 0, 1), (1, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 1))
LAMBDA = 100.0
LOG_2PI = 1.8378770664093453


def keep_freed_memory():
    """By default glibc hands the activations back after every step, and the next one pays for fresh pages."""
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return
    trim_threshold, mmap_threshold, arena_max = -1, -3, -8  # malloc.h
    libc.mallopt(trim_threshold, 2**31 - 1)
    libc.mallopt(mmap_threshold, 2**25)
    libc.mallopt(arena_max, 1)


def set_blas_threads(count):
    """Threads of OpenBLAS, where that is what libblas.so.3 is."""
    try:
        ctypes.CDLL("libblas.so.3").openblas_set_num_threads(count)
    except (OSError, AttributeError):
        pass


def blas_name():
    for link in ("/etc/alternatives/libblas.so.3-x86_64-linux-gnu", "/usr/lib/libblas.so.3"):
        if os.path.exists(link):
            return os.path.realpath(link)
    return "unknown"


class FastFlow(torch.nn.Module):
    """The affine flow with few operations per layer. Columns of the state are not put back in order between the layers:
    each layer leaves (kept, moved), and the next one's gathers know where things are."""

    def __init__(self, flow, parameters, batched):
        super().__init__()
        self.flow, self.batched = flow, batched
        tensors = [t for layer in range(len(flow.masks)) for t in self.layer_tensors(layer, parameters)]
        self.shapes = [t.shape for t in tensors]
        self.sizes = [t.numel() for t in tensors]
        self.flat = torch.nn.Parameter(torch.cat([t.reshape(-1) for t in tensors]))  # one leaf: one Adam update
        self.forward_plan, self.forward_order = self.plan(range(len(flow.masks)))
        self.inverse_plan, self.inverse_order = self.plan(reversed(range(len(flow.masks))))

    def layer_tensors(self, layer, parameters):
        """s, then for each linear layer its weights and its biases: A's and B's apart, or stacked."""
        prefix = f"layer.{layer:03d}"
        tensors = [parameters[f"{prefix}.s"].detach().float()]
        for i, kind in itertools.product(range(self.flow.depth + 1), "wb"):
            pair = [parameters[f"{prefix}.{net}.{i:02d}.{kind}"].detach().float() for net in "AB"]
            if self.batched:
                stacked = torch.stack(pair)
                pair = [stacked if kind == "w" else stacked[:, None]]  # (2, in, out), (2, 1, out)
            tensors += pair
        return tensors

    def views(self):
        """The tensors of every layer, as views of the flat parameter."""
        tensors = [t.view(shape) for t, shape in zip(self.flat.split(self.sizes), self.shapes)]
        each = len(tensors) // len(self.flow.masks)
        return [tensors[i:i + each] for i in range(0, len(tensors), each)]

    def plan(self, layers):
        """For each layer: its number and where its kept and moved columns lie in the state that it receives."""
        order, steps = list(range(self.flow.dim)), []
        for layer in layers:
            kept, moved = reference.split(self.flow.masks[layer])
            steps.append((layer, *(torch.tensor([order.index(i) for i in part]) for part in (kept, moved))))
            order = kept + moved
        return steps, torch.tensor([order.index(i) for i in range(self.flow.dim)])

    def networks(self, tensors, u1):
        """A(u1) and B(u1), (n, m2) each."""
        if self.batched:
            h = u1.expand(2, -1, -1)
            for i in range(self.flow.depth):
                h = functional.leaky_relu_(torch.baddbmm(tensors[2 + 2 * i], h, tensors[1 + 2 * i]), 0.3)
            return torch.baddbmm(tensors[-1], h, tensors[-2]).unbind(0)
        outputs = []
        for net in (0, 1):
            h = u1
            for i in range(self.flow.depth):
                h = functional.leaky_relu_(torch.addmm(tensors[3 + 4 * i + net], h, tensors[1 + 4 * i + net]), 0.3)
            outputs.append(torch.addmm(tensors[-2 + net], h, tensors[-4 + net]))
        return outputs

    def encode(self, u):
        logdet, views = 0.0, self.views()
        for layer, kept, moved in self.forward_plan:
            tensors = views[layer]
            u1, u2 = u.index_select(1, kept), u.index_select(1, moved)
            raw, b = self.networks(tensors, u1)
            a = tensors[0] * torch.tanh(raw)
            u = torch.cat((u1, torch.addcmul(b, torch.exp(a), u2)), 1)
            logdet = logdet + a.sum()
        return u.index_select(1, self.forward_order), logdet

    def decode(self, v):
        views = self.views()
        for layer, kept, moved in self.inverse_plan:
            tensors = views[layer]
            v1, v2 = v.index_select(1, kept), v.index_select(1, moved)
            raw, b = self.networks(tensors, v1)
            v = torch.cat((v1, (v2 - b) * torch.exp(-tensors[0] * torch.tanh(raw))), 1)
        return v.index_select(1, self.inverse_order)

    def forward(self, u):
        """The loss summed over the points, since shards are added."""
        v, logdet = self.encode(u)
        k = self.flow.dim_x
        distance = (v[:, k:] - u[:, k:]).abs().sum()
        return 0.5 * (v[:, :k].square().sum() + u.shape[0] * k * LOG_2PI) + LAMBDA * distance - logdet


class Runner:
    """One variant: training steps and sampling on fixed points."""

    def __init__(self, flow, parameters, points, networks, run, threads):
        shards = OPTIONS.threads if threads == "shards" else 1
        self.torch_threads = OPTIONS.threads if threads == "inside" else 1
        set_blas_threads(1 if threads == "shards" else OPTIONS.threads)
        torch.set_num_threads(self.torch_threads)
        self.model = FastFlow(flow, parameters, networks == "batched")
        self.batch, self.pieces = points.shape[0], points.chunk(shards)
        self.loss, self.decode = self.model, self.model.decode
        if run == "traced":
            example = self.pieces[0]
            traced = torch.jit.trace_module(self.model, {"forward": example, "decode": example}, check_trace=False)
            self.loss, self.decode = traced, traced.decode
        self.flat = self.model.flat
        self.adam = torch.optim.Adam([self.flat], lr=1e-4)
        self.pool = ThreadPoolExecutor(shards) if shards > 1 else None

    def shard_gradient(self, piece):
        torch.set_num_threads(self.torch_threads)  # a setting of the calling thread
        loss = self.loss(piece) / self.batch
        return loss.detach(), torch.autograd.grad(loss, self.flat)[0]

    def shard_sample(self, piece):
        torch.set_num_threads(self.torch_threads)
        with torch.no_grad():
            return self.decode(piece)

    def step(self):
        if self.pool is None:
            loss, self.flat.grad = self.shard_gradient(self.pieces[0])
        else:
            losses, gradients = zip(*self.pool.map(self.shard_gradient, self.pieces))
            loss, self.flat.grad = sum(losses), gradients[0]
            for other in gradients[1:]:
                self.flat.grad += other
        self.adam.step()
        return loss

    def sample(self):
        if self.pool is None:
            return self.shard_sample(self.pieces[0])
        return torch.cat(list(self.pool.map(self.shard_sample, self.pieces)))

    def close(self):
        if self.pool is not None:
            self.pool.shutdown()


def seconds_each(action, steps):
    start = time.perf_counter()
    for _ in range(steps):
        action()
    return (time.perf_counter() - start) / steps


def expected_values(flow, parameters, points):
    """Loss, norm of its gradient, and x = F^{-1}(points), by torch_flow.py in float64."""
    _, _, terms = reference.data_terms(flow, parameters, points.double(), LAMBDA, "l1")
    loss = sum(terms.values())
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    norm = torch.sqrt(sum(g.square().sum() for g in gradients))
    with torch.no_grad():
        x, _ = reference.inverse(flow, parameters, points.double())
    return loss.item(), norm.item(), x


def check(runner, expected):
    """The fast model must be the model of the golden values, within float32. Takes a sample and a step."""
    loss, norm, x = expected
    sample_error = (runner.sample() - x).abs().max().item()
    loss_error = abs(runner.step().item() - loss) / max(1.0, abs(loss))
    norm_error = abs(runner.flat.grad.double().norm().item() - norm) / norm
    if not (sample_error < 1e-3 and loss_error < 1e-4 and norm_error < 1e-3):
        sys.exit(f"not the same model: sample off by {sample_error:.1e}, loss {loss_error:.1e}, norm {norm_error:.1e}")


def try_variant(runner, expected, best_train, best_sample):
    """Seconds for a step and for a sample, roughly; gives up early on what is far behind the best so far."""
    first = seconds_each(lambda: check(runner, expected), 1)
    if first > 4.0 * (best_train + best_sample):
        return first, first
    runner.step(), runner.sample()  # the second call of a trace optimises it
    train, sample = seconds_each(runner.step, 1), seconds_each(runner.sample, 1)
    if train < 2.0 * best_train or sample < 2.0 * best_sample:
        train = min([train] + [seconds_each(runner.step, 1) for _ in range(5)])
        sample = min([sample] + [seconds_each(runner.sample, 1) for _ in range(10)])
    return train, sample


def main():
    keep_freed_memory()
    torch.set_flush_denormal(True)
    masks = tuple(itertools.chain.from_iterable(
        SIX_MASKS[i:] + SIX_MASKS[:i] for i in (block % 6 for block in range(OPTIONS.blocks))))
    flow = reference.Flow(2, 1, "affine", OPTIONS.depth, OPTIONS.width, masks)
    parameters = reference.formula_parameters(flow, 1)
    points = reference.formula_points(OPTIONS.batch, flow.dim, 2).float()

    ways = list(itertools.product(("separate", "batched"), ("eager", "traced")))
    variants = [(*way, "inside") for way in ways]
    if OPTIONS.threads > 1:  # the slow ones last and not in all their forms
        variants = [(*way, "shards") for way in ways]
        variants += [("separate", "eager", "blas"), ("batched", "traced", "blas"), ("separate", "eager", "inside")]
    if OPTIONS.variant:
        variants = [tuple(OPTIONS.variant.split("/"))]

    expected = expected_values(flow, parameters, points)
    trials = {"step": [], "sample": []}  # (seconds, variant)
    for variant in variants:
        runner = Runner(flow, parameters, points, *variant)
        best = [min(trial)[0] if trial else float("inf") for trial in trials.values()]
        for trial, seconds in zip(trials.values(), try_variant(runner, expected, *best)):
            trial.append((seconds, variant))
        runner.close()
        if OPTIONS.verbose:
            train, sample = (OPTIONS.batch / trial[-1][0] for trial in trials.values())
            print(f"{'/'.join(variant):24s} train {train:7.0f} samples/s   sample {sample:7.0f} samples/s",
                  file=sys.stderr)

    def measure(action):
        """Samples a second and variant: the better of the two that came first in the trials."""
        results = []
        for trial, variant in sorted(trials[action])[:2]:
            runner = Runner(flow, parameters, points, *variant)
            run = getattr(runner, action)
            seconds_each(run, 3)
            seconds = min(trial, *(seconds_each(run, OPTIONS.steps) for _ in range(OPTIONS.repeat)))
            results.append((OPTIONS.batch / seconds, "/".join(variant)))
            runner.close()
        return max(results)

    train_rate, train_variant = measure("step")
    sample_rate, sample_variant = measure("sample")
    print(json.dumps({
        "train_samples_per_s": round(train_rate, 1), "sample_samples_per_s": round(sample_rate, 1),
        "train_variant": train_variant, "sample_variant": sample_variant,
        "threads": OPTIONS.threads, "batch": OPTIONS.batch, "blocks": OPTIONS.blocks, "layers": len(masks),
        "depth": OPTIONS.depth, "width": OPTIONS.width, "steps": OPTIONS.steps,
        "parameters": sum(p.numel() for p in parameters.values()),
        "torch": torch.__version__, "blas": blas_name(),
    }))


if __name__ == "__main__":
    main()
