#!/usr/bin/env python3
"""How fast PyTorch trains and samples the paper's toy flow: the number to beat. Prints one JSON object.

    python3 bench/peer_torch.py --threads 2

The model is that of bench/toy_torch.py, compared with tests/golden/torch_flow.py before anything is timed. Several ways
of running it are tried for a few steps each and the fastest is measured:
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

sys.dont_write_bytecode = True
import torch  # noqa: E402
from toy_torch import FastFlow, expected_values, toy_model  # noqa: E402


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
    flow, parameters, points = toy_model(OPTIONS.batch, OPTIONS.blocks, OPTIONS.depth, OPTIONS.width)

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
        "threads": OPTIONS.threads, "batch": OPTIONS.batch, "blocks": OPTIONS.blocks, "layers": len(flow.masks),
        "depth": OPTIONS.depth, "width": OPTIONS.width, "steps": OPTIONS.steps,
        "parameters": sum(p.numel() for p in parameters.values()),
        "torch": torch.__version__, "blas": blas_name(),
    }))


if __name__ == "__main__":
    main()
