"""The paper's toy flow in PyTorch, written for speed: for bench/peer_torch.py and bench/gpu_torch.py.

The model is tests/golden/torch_flow.py in float32 (joint condition, affine law, L1 distance, lambda 100) with few
operations per layer and all parameters in one tensor.
"""
import itertools
import pathlib
import sys

import torch
import torch.nn.functional as functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"))
import torch_flow as reference  # noqa: E402

SIX_MASKS = ((0, 1, 0), (1, 0, 1), (1, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 1))
LAMBDA = 100.0
LOG_2PI = 1.8378770664093453


def toy_model(batch, blocks=4, depth=12, width=64):
    """The flow, its parameters by name and a batch of points, of the golden values."""
    masks = tuple(itertools.chain.from_iterable(
        SIX_MASKS[i:] + SIX_MASKS[:i] for i in (block % 6 for block in range(blocks))))
    flow = reference.Flow(2, 1, "affine", depth, width, masks)
    return flow, reference.formula_parameters(flow, 1), reference.formula_points(batch, flow.dim, 2).float()


class FastFlow(torch.nn.Module):
    """The affine flow with few operations per layer. Columns of the state are not put back in order between the layers:
    each layer leaves (kept, moved), and the next one's gathers know where things are."""

    def __init__(self, flow, parameters, batched, device="cpu"):
        super().__init__()
        self.flow, self.batched, self.device = flow, batched, device
        tensors = [t for layer in range(len(flow.masks)) for t in self.layer_tensors(layer, parameters)]
        self.shapes = [t.shape for t in tensors]
        self.sizes = [t.numel() for t in tensors]
        flat = torch.cat([t.reshape(-1) for t in tensors]).to(device)
        self.flat = torch.nn.Parameter(flat)  # one leaf: one Adam update
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
            steps.append((layer, *(self.places(order, part) for part in (kept, moved))))
            order = kept + moved
        return steps, self.places(order, range(self.flow.dim))

    def places(self, order, columns):
        return torch.tensor([order.index(i) for i in columns], device=self.device)

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


def expected_values(flow, parameters, points):
    """Loss, norm of its gradient, and x = F^{-1}(points), by torch_flow.py in float64."""
    _, _, terms = reference.data_terms(flow, parameters, points.double(), LAMBDA, "l1")
    loss = sum(terms.values())
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    norm = torch.sqrt(sum(g.square().sum() for g in gradients))
    with torch.no_grad():
        x, _ = reference.inverse(flow, parameters, points.double())
    return loss.item(), norm.item(), x
