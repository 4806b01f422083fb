#!/usr/bin/env python3
"""An image flow of a recipe in PyTorch, as one would write it: modules, nn.Conv2d, nn.LayerNorm, torch.optim.Adam.

    jointflow recipe paper/fashion-sr-14-28 | python3 bench/image_torch.py --model - --size 28 --check
    python3 bench/image_torch.py --model FILE --size 28 --batch 32

--check compares it with tests/golden/torch_image_flow.py, which shares no code with it: the same parameters, z, y',
log-determinant and inverse. Otherwise a process stays, with its models warm and its data in memory, and answers lines
    {"work": "train" or "sample", "threads": 2, "format": "contiguous" or "channels_last", "steps": 1, "warm": 1}
on standard input with the samples a second. A training step is forward, backward and Adam; sampling is the inverse
without gradients. "warm" steps go before those that count.

Each memory format is used as it should be: images that have their channels last are also normalised that way,
(h, w, c), so that nothing is ever copied from one order to the other.
"""
import argparse
import configparser
import itertools
import json
import math
import pathlib
import resource
import sys
import time
import typing

import torch
from torch import nn

EVEN, ODD = ((0, 0), (1, 1)), ((0, 1), (1, 0))  # pixels of a 2x2 cell
CELL = ((0, 0), (0, 1), (1, 0), (1, 1))
LAMBDA = 100
EPSILON = 1e-3  # of norms
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


class Way(typing.NamedTuple):
    norm: str  # parameters of norms: one an "element" or one a "channel"
    channels_last: bool


def stack(u, pixels):
    """(n, c, h, w) -> (n, len(pixels) c, h/2, w/2)"""
    return torch.cat([u[:, :, i::2, j::2] for i, j in pixels], 1)


def unstack(u, stacked, pixels):
    """A copy of u with these pixels of every cell replaced."""
    u = u.clone()
    for (i, j), part in zip(pixels, stacked.chunk(len(pixels), 1)):
        u[:, :, i::2, j::2] = part
    return u


class NormOfLastChannels(nn.Module):
    """A layer norm over a whole sample (h, w, c) with a scale and a bias for each channel. nn.GroupNorm is the same of
    (c, h, w), and would copy images that have their channels last."""

    def __init__(self, c):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

    def forward(self, t):
        return torch.addcmul(self.bias, nn.functional.layer_norm(t, t.shape[1:], eps=EPSILON), self.weight)


class ActivatedNorm(nn.Module):
    """Leaky ReLU, then a layer norm over a whole sample with a scale and a bias for each element or channel."""

    def __init__(self, c, h, w, way):
        super().__init__()
        self.channels_last = way.channels_last
        self.activation = nn.LeakyReLU(0.3)
        if way.norm == "element":
            self.norm = nn.LayerNorm((h, w, c) if way.channels_last else (c, h, w), eps=EPSILON)
        else:
            self.norm = NormOfLastChannels(c) if way.channels_last else nn.GroupNorm(1, c, eps=EPSILON)

    def forward(self, t):
        t = self.activation(t)
        if self.channels_last:
            return self.norm(t.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.norm(t)


class Residual(nn.Module):
    def __init__(self, k, h, w, cardinality, dilations, way):
        super().__init__()
        wide = sum(k // d for d in dilations)
        self.enter = nn.Sequential(ActivatedNorm(k, h, w, way), nn.Conv2d(k, k, 1),
                                   ActivatedNorm(k, h, w, way))
        self.branches = nn.ModuleList(
            nn.Conv2d(k, k // d, 3, padding=d, dilation=d, groups=cardinality // d) for d in dilations)
        self.leave = nn.Sequential(ActivatedNorm(wide, h, w, way), nn.Conv2d(wide, k, 1))

    def forward(self, t):
        entered = self.enter(t)
        return t + self.leave(torch.cat([branch(entered) for branch in self.branches], 1))


class ResNeXt(nn.Sequential):
    def __init__(self, inputs, outputs, h, w, k, cardinality, residual, way):
        dilations = [1] + [d for d in (2, 4, 8, 16) if 2 * d + 1 <= min(h, w) / 2 and cardinality % d == 0]
        super().__init__(
            nn.Conv2d(inputs, k, 3, padding=1),
            *(Residual(k, h, w, cardinality, dilations, way) for _ in range(residual)),
            ActivatedNorm(k, h, w, way), nn.Conv2d(k, outputs, 3, padding=1))


class Coupling(nn.Module):
    """kind 0, 1: checkerboards of an image of c channels, h x w;  2, 3: even and odd channels."""

    def __init__(self, kind, c, h, w, k, cardinality, residual, way):
        super().__init__()
        self.kind, self.format = kind, FORMATS["channels_last" if way.channels_last else "contiguous"]
        if kind < 2:
            self.kept, self.moved = ((EVEN, ODD), (ODD, EVEN))[kind]
            shape = (2 * c, 2 * c, h // 2, w // 2, k // 2)
        else:
            shape = (c // 2, c // 2, h, w, k)
        self.s = nn.Parameter(torch.ones(1))
        self.A = ResNeXt(*shape, cardinality, residual, way)
        self.B = ResNeXt(*shape, cardinality, residual, way)

    def split(self, u):
        if self.kind < 2:
            return stack(u, self.kept), stack(u, self.moved)
        return u[:, self.kind - 2::2], u[:, 3 - self.kind::2]

    def joined(self, u, u2):
        if self.kind < 2:
            return unstack(u, u2, self.moved)
        u = u.clone()
        u[:, 3 - self.kind::2] = u2
        return u

    def terms(self, u1):
        u1 = u1.contiguous(memory_format=self.format)
        return self.s * torch.tanh(self.A(u1)), self.B(u1)

    def forward(self, u):
        u1, u2 = self.split(u)
        a, b = self.terms(u1)
        return self.joined(u, torch.exp(a) * u2 + b), a.sum((1, 2, 3))

    def inverse(self, v):
        v1, v2 = self.split(v)
        a, b = self.terms(v1)
        return self.joined(v, (v2 - b) * torch.exp(-a))


class Flow(nn.Module):
    """u = (x, y) (n, 2, h, w) -> v = (z, y'). After some blocks only the lower half of each 2x2 cell goes on."""

    def __init__(self, model, size, channels_last):
        super().__init__()
        self.squeeze, way = model["squeeze"], Way(model["norm"], channels_last)
        self.layers, c = nn.ModuleList(), 2
        for k, cardinality, squeeze in zip(model["kernels"], model["cardinality"], self.squeeze):
            self.layers.extend(Coupling(kind, c, size, size, k, cardinality, model["residual"], way)
                               for kind in range(4))
            size, c = (size // 2, 2 * c) if squeeze else (size, c)
        if channels_last:
            self.to(memory_format=torch.channels_last)

    def forward(self, u):
        leaving, logdet = [], 0
        for block, squeeze in enumerate(self.squeeze):
            for layer in self.layers[4 * block:4 * block + 4]:
                u, a = layer(u)
                logdet = logdet + a
            if squeeze:
                left, u = stack(u, CELL).chunk(2, 1)
                leaving.append(left)
        return self.whole(u, leaving), logdet

    def whole(self, u, leaving):
        for left in reversed(leaving):
            u = self.unsqueezed(left, u)
        return u

    @staticmethod
    def unsqueezed(left, u):
        n, c, h, w = u.shape
        return unstack(u.new_empty(n, c // 2, 2 * h, 2 * w), torch.cat([left, u], 1), CELL)

    def inverse(self, v):
        leaving = []
        for squeeze in self.squeeze:
            if squeeze:
                left, v = stack(v, CELL).chunk(2, 1)
                leaving.append(left)
        for block in reversed(range(len(self.squeeze))):
            if self.squeeze[block]:
                v = self.unsqueezed(leaving.pop(), v)
            for layer in reversed(self.layers[4 * block:4 * block + 4]):
                v = layer.inverse(v)
        return v

    def loss(self, u):
        v, logdet = self(u)
        z, y_distance = v[:, :1], (v[:, 1:] - u[:, 1:]).abs()
        prior = 0.5 * z.square().sum((1, 2, 3)) + 0.5 * math.log(2 * math.pi) * z[0].numel()
        return (prior + LAMBDA * y_distance.sum((1, 2, 3)) - logdet).mean()


class Worker:
    """Training steps and samples of one batch, in either format."""

    def __init__(self, model, size, batch):
        torch.manual_seed(1)
        self.model, self.size, self.batch = model, size, batch
        self.points = torch.randn(batch, 2, size, size)
        self.flows = {}

    def flow(self, name):
        if name not in self.flows:
            flow = Flow(self.model, self.size, name == "channels_last")
            points = self.points.contiguous(memory_format=FORMATS[name])
            self.flows[name] = flow, points, torch.optim.Adam(flow.parameters(), lr=1e-6)
        return self.flows[name]

    def train(self, name):
        flow, points, adam = self.flow(name)
        adam.zero_grad(set_to_none=True)
        flow.loss(points).backward()
        adam.step()

    def sample(self, name):
        flow, points, _ = self.flow(name)
        with torch.no_grad():
            flow.inverse(points)

    def answer(self, asked):
        torch.set_num_threads(asked["threads"])
        work = {"train": self.train, "sample": self.sample}[asked["work"]]
        for _ in range(asked["warm"]):
            work(asked["format"])
        start = time.perf_counter()
        for _ in range(asked["steps"]):
            work(asked["format"])
        return {"samples_per_s": self.batch * asked["steps"] / (time.perf_counter() - start),
                "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def read_model(path):
    """The [model] of a recipe, as `jointflow recipe NAME` prints it: numbers per block as lists."""
    parser = configparser.ConfigParser(inline_comment_prefixes="#")
    parser.read_string(sys.stdin.read() if path == "-" else pathlib.Path(path).read_text())
    section = parser["model"]
    known = {"condition": ["joint"], "law": ["affine"], "net": ["resnext"], "norm": ["element", "channel"],
             "slope": ["0.3"]}
    for key, values in known.items():
        if section[key] not in values:
            sys.exit(f"{path}: model.{key} is {section[key]}; here it can only be {' or '.join(values)}")
    blocks = int(section["blocks"])

    def numbers(text):
        return [int(word) for word in text.split(",")] if text not in ("", "none", "0") else []

    def each_block(key):
        values = numbers(section[key])
        return values * blocks if len(values) == 1 else values

    squeezed = numbers(section["squeeze"])  # after these blocks, counted from 1
    return {"kernels": each_block("kernels"), "cardinality": each_block("cardinality"),
            "squeeze": [int(block + 1 in squeezed) for block in range(blocks)],
            "residual": int(section["residual"]), "norm": section["norm"]}


def forward_operations(flow, size):
    """Multiplications and additions of the convolutions for one sample, 2 a weight and place where it is applied."""
    counted = []
    hooks = [module.register_forward_hook(lambda m, _, out: counted.append(2 * m.weight.numel() * out[0, 0].numel()))
             for module in flow.modules() if isinstance(module, nn.Conv2d)]
    with torch.no_grad():
        flow(torch.zeros(1, 2, size, size))
    for hook in hooks:
        hook.remove()
    return sum(counted)


def check(model, size):
    """Largest differences from the golden implementation in float, as a share of the largest value."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"))
    import torch_image_flow as golden

    shape = golden.ImageFlow(size, size, 1, 1, "joint", tuple(model["kernels"]), tuple(model["cardinality"]),
                             tuple(model["squeeze"]), model["residual"], model["norm"])
    parameters = golden.formula_parameters(shape, 1)
    points = golden.formula_points(2, shape.dim, 2)
    with torch.no_grad():
        v, logdet = golden.forward(shape, parameters, points)
    expected_v = golden.as_images(shape, v).permute(0, 3, 1, 2)
    u = golden.as_images(shape, points).permute(0, 3, 1, 2)

    def difference(found, expected):
        return ((found - expected).abs().max() / expected.abs().max()).item()

    found = {}
    for name in FORMATS:
        flow = Flow(model, size, name == "channels_last")
        load(flow, parameters)
        with torch.no_grad():
            v, sums = flow(u.float())
            back = flow.inverse(v)
        found[name] = {"v": difference(v, expected_v), "logdet": difference(sums, logdet),
                       "inverse": difference(back, u)}
    return found


def load(flow, parameters):
    """Both list their parameters in the same order; images are (h, w, c) there, kernels (kh, kw, inputs, outputs)."""
    for mine, (name, theirs) in itertools.zip_longest(flow.parameters(), parameters.items()):
        if theirs.dim() == 4:
            theirs = theirs.permute(3, 2, 0, 1)
        elif theirs.shape != mine.shape:
            theirs = theirs.permute(2, 0, 1)
        if theirs.shape != mine.shape:
            sys.exit(f"{name} is {tuple(theirs.shape)} there, {tuple(mine.shape)} here")
        mine.data.copy_(theirs.detach())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="a recipe, with all its values; -: on standard input")
    parser.add_argument("--size", type=int, required=True, help="height and width of the images")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--check", action="store_true", help="compare with the golden implementation and end")
    options = parser.parse_args()
    model = read_model(options.model)
    if options.check:
        found = check(model, options.size)
        print(json.dumps(found))
        sys.exit(0 if all(value < 1e-5 for row in found.values() for value in row.values()) else "not the same model")
    flow = Flow(model, options.size, False)
    print(json.dumps({"parameters": sum(p.numel() for p in flow.parameters()), "torch": torch.__version__,
                      "forward_operations": forward_operations(flow, options.size)}), flush=True)
    del flow
    worker = Worker(model, options.size, options.batch)
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
