#!/usr/bin/env python3
"""One mode of PyTorch on a GPU, for bench/gpu: a process that stays, warm, and answers lines of standard input.

    jointflow recipe paper/fashion-sr-14-28 > r.ini
    python3 bench/gpu_torch.py --model r.ini --size 28 --batch 32 --mode graph+tf32 [--device cuda]
    python3 bench/gpu_torch.py --model toy --batch 1000 --mode graph
    python3 bench/gpu_torch.py --limits

The first line it writes says what it measures: parameters, operations and numbers moved of a sample forward. Then
    {"work": "train" or "sample", "seconds": 0.5}
is answered with samples a second; the first time it is made ready, which takes minutes where it is compiled. A
training step is forward, backward and Adam (fused), sampling the inverse without gradients. Before the first step the
loss in this mode is compared with that of fp32, operation by operation.

A mode is words with + between them:
    eager     operation by operation, which is also what it is without this word
    graph     the whole step captured once as a CUDA graph, and replayed
    compile   torch.compile of both networks of a layer, with what follows from their outputs
    autotune  the same with mode="max-autotune-no-cudagraphs"
    whole     torch.compile of the whole loss and the whole inverse
    overhead  the same with mode="reduce-overhead", which captures graphs by itself
    fp32, tf32, bf16   numbers of products and convolutions; bf16 by autocast. fp32 unless said
    cl        images with their channels last
    untried   algorithms of convolutions as the library guesses, instead of by trial: it is made ready sooner
    apart     of the toy alone: networks A and B of a layer one after the other, instead of as one product

--limits: a process that answers {"work": "limits"} with what this GPU reaches (copies of a GiB, products of 8192 x 8192
matrices) and {"work": "memory"} with the device memory in use by all processes.
"""
import argparse
import contextlib
import json
import sys
import time

sys.dont_write_bytecode = True
import torch  # noqa: E402
from torch import nn  # noqa: E402

import image_torch  # noqa: E402
import toy_torch  # noqa: E402

PRECISIONS = ("fp32", "tf32", "bf16")
WORDS = ("eager", "graph", "compile", "autotune", "whole", "overhead", "cl", "untried", "apart") + PRECISIONS
LOSS_BOUND = {"fp32": 1e-4, "tf32": 1e-2, "bf16": 5e-2}  # relative difference from fp32, to notice what is wrong


def mode_words(text):
    words = text.split("+")
    for word in words:
        if word not in WORDS:
            sys.exit(f"mode {text}: no word is called {word}; there are {', '.join(WORDS)}")
    return set(words)


def precision_of(words):
    return next((p for p in PRECISIONS if p in words), "fp32")


def allow_tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


# ---- the models ------------------------------------------------------------------------------------------

class Image:
    def __init__(self, options, words):
        torch.manual_seed(1)
        model = image_torch.read_model(options.model)
        self.flow = image_torch.Flow(model, options.size, "cl" in words)
        self.operations = image_torch.forward_operations(self.flow, options.size)
        self.numbers = self.numbers_moved(options.size)
        self.flow.to(options.device)
        memory_format = image_torch.FORMATS["channels_last" if "cl" in words else "contiguous"]
        points = torch.randn(options.batch, 2, options.size, options.size)
        self.points = points.to(options.device).contiguous(memory_format=memory_format)
        self.loss, self.inverse = self.flow.loss, self.flow.inverse

    def numbers_moved(self, size):
        """Read and written, where every convolution and every norm with its activation is one pass; of one sample."""
        counted = []
        hooks = [module.register_forward_hook(lambda m, x, y: counted.append(x[0].numel() + y.numel()))
                 for module in self.flow.modules() if isinstance(module, (nn.Conv2d, image_torch.ActivatedNorm))]
        with torch.no_grad():
            self.flow(torch.zeros(1, 2, size, size))
        for hook in hooks:
            hook.remove()
        return sum(counted)

    def compile_parts(self, mode):
        # Of the class, so that layers of one shape share what is compiled; this process has one model alone.
        image_torch.Coupling.terms = torch.compile(image_torch.Coupling.terms, mode=mode, dynamic=False)


class Toy:
    def __init__(self, options, words):
        flow, parameters, points = toy_torch.toy_model(options.batch)
        self.flow = toy_torch.FastFlow(flow, parameters, "apart" not in words, options.device)
        self.operations = 2 * sum(t.numel() for name, t in parameters.items() if name.endswith(".w"))
        self.numbers = 2 * sum(sum(t.shape) for name, t in parameters.items() if name.endswith(".w"))
        self.points = points.to(options.device)
        self.loss = lambda u: self.flow(u) / options.batch
        self.inverse = self.flow.decode

    def compile_parts(self, mode):
        self.flow.networks = torch.compile(self.flow.networks, mode=mode, dynamic=False)


# ---- running them ----------------------------------------------------------------------------------------

class Worker:
    def __init__(self, model, options, words):
        self.model, self.batch, self.cuda, self.words = model, options.batch, options.device != "cpu", words
        self.precision, self.actions, self.pool = precision_of(words), {}, None
        self.loss, self.inverse = model.loss, model.inverse
        more = {"fused": True, "capturable": "graph" in words} if self.cuda else {}
        self.adam = torch.optim.Adam(model.flow.parameters(), lr=1e-6, **more)

    def numbers(self):
        """Fresh each time: autocast keeps casts of weights, which a graph must not."""
        if self.precision != "bf16":
            return contextlib.nullcontext()
        return torch.autocast("cuda" if self.cuda else "cpu", torch.bfloat16, cache_enabled=False)

    def forward_loss(self):
        with self.numbers():
            return self.loss(self.model.points)

    def train(self):
        self.adam.zero_grad(set_to_none=True)
        self.forward_loss().backward()
        self.adam.step()

    def sample(self):
        with torch.no_grad(), self.numbers():
            self.inverse(self.model.points)

    def synchronise(self):
        if self.cuda:
            torch.cuda.synchronize()

    def compile(self):
        if not self.words & {"compile", "autotune", "whole", "overhead"}:
            return
        import torch._dynamo as dynamo
        for name in ("recompile_limit", "cache_size_limit"):  # a variant for each shape of network
            if hasattr(dynamo.config, name):
                setattr(dynamo.config, name, 64)
        if self.words & {"compile", "autotune"}:
            self.model.compile_parts("max-autotune-no-cudagraphs" if "autotune" in self.words else None)
        else:
            mode = "reduce-overhead" if "overhead" in self.words else None
            self.loss = torch.compile(self.loss, mode=mode, dynamic=False)
            self.inverse = torch.compile(self.inverse, mode=mode, dynamic=False)

    def begin(self):
        """Everything that is decided once for the process."""
        if self.cuda:
            torch.backends.cudnn.benchmark = "untried" not in self.words
        allow_tf32(False)
        with torch.no_grad():
            expected = self.model.loss(self.model.points).item()
        allow_tf32(self.precision != "fp32")
        self.compile()
        with torch.no_grad():
            found = self.forward_loss().item()
        self.difference = abs(found - expected) / max(1, abs(expected))
        if not self.difference < LOSS_BOUND[self.precision]:
            sys.exit(f"the loss is {found:.6g} in this mode, {expected:.6g} in fp32")
        if self.cuda:
            torch.cuda.empty_cache()  # what only the comparison took is not to count

    def captured(self, work):
        """The step as a graph. Gradients are in its memory, and written anew by every replay."""
        self.adam.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            if work == "train":
                self.forward_loss().backward()
                self.adam.step()
            else:
                self.sample()
        self.pool = graph.pool()
        return graph.replay

    def action(self, work):
        if not self.actions:
            self.begin()
        if work not in self.actions:
            step = {"train": self.train, "sample": self.sample}[work]
            if self.cuda:
                stream = torch.cuda.Stream()
                stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    for _ in range(3):
                        step()
                torch.cuda.current_stream().wait_stream(stream)
            if "graph" in self.words:
                self.synchronise()
                step = self.captured(work)
            self.actions[work] = step
        return self.actions[work]

    def answer(self, asked):
        step = self.action(asked["work"])
        self.synchronise()
        start = time.perf_counter()
        step()
        self.synchronise()
        steps = max(1 if asked["seconds"] == 0 else 3, round(asked["seconds"] / (time.perf_counter() - start)))
        start = time.perf_counter()
        for _ in range(steps):
            step()
        self.synchronise()
        return {"samples_per_s": self.batch * steps / (time.perf_counter() - start), "steps": steps,
                "loss_differs": self.difference}


# ---- what the GPU reaches --------------------------------------------------------------------------------

def best_seconds(action, repeats=20):
    """The median time of an action, by events of the GPU."""
    times = []
    for _ in range(repeats + 3):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        action()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return sorted(times[3:])[repeats // 2]


def product_rate(kind, size=8192):
    a, b = (torch.randn(size, size, device="cuda", dtype=kind) for _ in range(2))
    return 2 * size**3 / best_seconds(lambda: torch.matmul(a, b))


def limits():
    found = {"name": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    a = torch.empty(2**28, device="cuda").fill_(1)
    b = torch.empty_like(a)
    found["bytes_per_s"] = 2 * 2**30 / best_seconds(lambda: b.copy_(a))  # read and written
    del a, b
    allow_tf32(False)
    found["fp32"] = product_rate(torch.float32)
    allow_tf32(True)
    found["tf32"] = product_rate(torch.float32)
    found["bf16"] = product_rate(torch.bfloat16)
    torch.cuda.empty_cache()
    return found


def memory():
    free, whole = torch.cuda.mem_get_info()
    return {"used_mib": (whole - free) / 2**20}


# ---- the process -----------------------------------------------------------------------------------------

def serve(answer):
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", action="store_true", help="measure the GPU, no model")
    parser.add_argument("--model", help="a recipe of images with all its values, or: toy")
    parser.add_argument("--size", type=int, help="height and width of the images")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--mode", default="eager")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to see that everything runs")
    options = parser.parse_args()
    if options.limits:
        serve(lambda asked: {"limits": limits, "memory": memory}[asked["work"]]())
        return
    words = mode_words(options.mode)
    model = (Toy if options.model == "toy" else Image)(options, words)
    worker = Worker(model, options, words)
    print(json.dumps({"parameters": sum(p.numel() for p in model.flow.parameters()), "torch": torch.__version__,
                      "operations": model.operations, "numbers": model.numbers}), flush=True)
    serve(worker.answer)


if __name__ == "__main__":
    main()
