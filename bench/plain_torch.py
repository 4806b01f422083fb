#!/usr/bin/env python3
"""The paper's toy flow in PyTorch as one would write it: modules, nn.Linear, torch.optim.Adam. Prints one JSON object.

    python3 bench/plain_torch.py --threads 2

bench/peer_torch.py is the same model written for speed. Steps include forward, backward and Adam on points that are
already there; sampling is the inverse without gradients. Mean over the steps after three to warm up.
"""
import argparse
import json
import os
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--batch", type=int, default=1000)
parser.add_argument("--depth", type=int, default=12, help="hidden layers per network")
parser.add_argument("--width", type=int, default=64, help="units a hidden layer")
parser.add_argument("--blocks", type=int, default=4, help="blocks of six coupling layers")
parser.add_argument("--steps", type=int, default=10)
OPTIONS = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(OPTIONS.threads)  # read when torch loads

import torch  # noqa: E402
from torch import nn  # noqa: E402

MASKS = [(0, 1, 0), (1, 0, 1), (1, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 1)]  # 1: transformed


def dense(inputs, outputs):
    layers, size = [], inputs
    for _ in range(OPTIONS.depth):
        layers += [nn.Linear(size, OPTIONS.width), nn.LeakyReLU(0.3)]
        size = OPTIONS.width
    return nn.Sequential(*layers, nn.Linear(size, outputs))


class Coupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.kept = [i for i, m in enumerate(mask) if not m]
        self.moved = [i for i, m in enumerate(mask) if m]
        self.A, self.B = dense(len(self.kept), len(self.moved)), dense(len(self.kept), len(self.moved))
        self.s = nn.Parameter(torch.ones(1))

    def forward(self, u):
        u1 = u[:, self.kept]
        a = self.s * torch.tanh(self.A(u1))
        v = u.clone()
        v[:, self.moved] = torch.exp(a) * u[:, self.moved] + self.B(u1)
        return v, a.sum(1)

    def inverse(self, v):
        v1 = v[:, self.kept]
        a = self.s * torch.tanh(self.A(v1))
        u = v.clone()
        u[:, self.moved] = (v[:, self.moved] - self.B(v1)) * torch.exp(-a)
        return u


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(mask) for _ in range(OPTIONS.blocks) for mask in MASKS)

    def loss(self, u):
        v, logdet = u, 0
        for layer in self.layers:
            v, a = layer(v)
            logdet = logdet + a
        prior = 0.5 * (v[:, :2] ** 2).sum(1) + 1.8378770664093453
        return (prior + 100 * (v[:, 2:] - u[:, 2:]).abs().sum(1) - logdet).mean()

    def sample(self, v):
        for layer in reversed(self.layers):
            v = layer.inverse(v)
        return v


def samples_per_second(action):
    for _ in range(3 if OPTIONS.steps > 1 else 1):
        action()
    start = time.perf_counter()
    for _ in range(OPTIONS.steps):
        action()
    return OPTIONS.batch * OPTIONS.steps / (time.perf_counter() - start)


def main():
    torch.set_num_threads(OPTIONS.threads)
    torch.manual_seed(1)
    flow, points = Flow(), torch.randn(OPTIONS.batch, 3)
    adam = torch.optim.Adam(flow.parameters(), lr=1e-4)

    def step():
        adam.zero_grad()
        flow.loss(points).backward()
        adam.step()

    def sample():
        with torch.no_grad():
            flow.sample(points)

    print(json.dumps({"train_samples_per_s": round(samples_per_second(step), 1),
                      "sample_samples_per_s": round(samples_per_second(sample), 1),
                      "threads": OPTIONS.threads, "batch": OPTIONS.batch, "torch": torch.__version__}))


main()
