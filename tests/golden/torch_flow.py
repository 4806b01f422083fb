"""The dense conditional flow written a second time, in PyTorch, with gradients by autograd.

It shares no code with the C library: it is the independent witness that the golden values come from.
Everything is a plain function of (Flow, parameters, points); parameters are a dict name -> tensor in flat order.

    F : u = (x, y) -> v = (z, y'),   a chain of layers, log-determinants per sample (n,)

Each mask makes a step: one layer of every kind in Flow.transforms, in their order. Layers are numbered along the chain.

A coupling, with mask m in {0,1}^D; u1 = u[m == 0] is kept, u2 = u[m == 1] is transformed:
    a = s * tanh(A(u1)[:, :m2])      b = B(u1)
    affine:  v2   = exp(a) * u2 + b
    additive: v2  = u2 + b, a = 0; there is neither s nor A
    shear:   v2_i = exp(a_i) * u2_i + sum_{j<i} L_ij u2_j + b_i,   L = A(u1)[:, m2:] in row order (1,0) (2,0) (2,1) ...
    log|det| = sum_i a_i
    spline:  v2_i = a monotone rational-quadratic spline of u2_i on [-bound, bound], u2_i itself beyond it; there is neither s
             nor B. A(u1) has, element after element, bins numbers of widths, bins of heights and bins - 1 of derivatives:
                 widths, heights = 2 bound (1e-3 + (1 - 1e-3 bins) softmax(.)),  derivatives = 1e-3 + softplus(. + c),
             c such that 0 gives 1; both ends have the derivative 1. Piece by piece as Gregory and Delbourgo have it.

Networks: dense, or residual: with norm(h) = layer norm of LeakyReLU(h) (biased variance, epsilon 1e-3 inside the root),
    h = u1 W + b;   `residual` times: h += norm(norm(h) W1 + b1) W2 + b2;   output = norm(h) W + b

Actnorm:  v = exp(a) * u + b,   a and b (D) are parameters       log|det| = sum_i a_i
Mixing:   v = P L U u,          lu (D, D) holds L below and U above its diagonal; L has ones on its own, U the
          exponentials of lu's; element i of L U u goes to place p_i            log|det| = sum_i lu_ii
(Both of all elements of a joint flow: with a fixed condition they are not defined here.)
"""
import math
from dataclasses import dataclass
from typing import Dict, List, Tuple

import numpy as np
import torch

Parameters = Dict[str, torch.Tensor]
LEAKY_SLOPE = 0.3


@dataclass(frozen=True)
class Embedding:
    kind: str  # "dense" or "conv1d"
    size: int  # numbers that come out
    width: int  # of hidden dense layers
    layers: int  # hidden layers, or convolutions
    steps: int = 0  # of conv1d: y is (steps, channels of y)
    channels: int = 0  # of each convolution

    def keys(self, dim_y: int) -> str:
        """As a recipe has them."""
        convolutions = f"embed_shape = {self.steps}x{dim_y // self.steps}\nembed_channels = {self.channels}\n" if self.steps else ""
        return (f"embed = {self.kind}\nembed_size = {self.size}\nembed_width = {self.width}\n"
                f"embed_layers = {self.layers}\n{convolutions}")


KERNEL, STRIDE, EMBED_SLOPE = 5, 2, 0.1


def padding(steps: int, layers: int) -> Tuple[int, int, int]:
    """Zeros before and after a series, and the places that the last of its convolutions gives: as few zeros as leave none
    of the padded series unread."""
    places = 0
    while True:
        places += 1
        length = places
        for _ in range(layers):
            length = STRIDE * (length - 1) + KERNEL
        if length >= steps:
            return (length - steps) // 2, length - steps - (length - steps) // 2, places


@dataclass(frozen=True)
class Flow:
    dim_x: int
    dim_y: int  # 0: plain or rule
    law: str  # "affine", "shear", "additive" or "spline"
    depth: int  # hidden layers of each network; 0 where it is residual
    width: int  # units of each hidden layer
    masks: Tuple[Tuple[int, ...], ...]  # (steps, D); 1 = transformed
    transforms: Tuple[str, ...] = ("coupling",)  # of each step
    permutations: Tuple[Tuple[int, ...], ...] = ()  # p (D) of each mixing, in the order of the chain
    bins: int = 0  # of a spline
    bound: float = 0.0
    residual: int = 0  # blocks of residual networks; 0: dense ones
    embed: "Embedding | None" = None  # of y; masks are then of x and of what it makes of y

    @property
    def dim(self) -> int:
        return self.dim_x + self.dim_y

    @property
    def layers(self) -> int:
        return len(self.masks) * len(self.transforms)

    def kind(self, layer: int) -> str:
        return self.transforms[layer % len(self.transforms)]

    def mask(self, layer: int) -> Tuple[int, ...]:
        return self.masks[layer // len(self.transforms)]

    def permutation(self, layer: int) -> Tuple[int, ...]:
        return self.permutations[[i for i in range(self.layers) if self.kind(i) == "mixing"].index(layer)]


def split(mask) -> Tuple[List[int], List[int]]:
    """Indices of the kept and of the transformed elements, both increasing."""
    return [i for i, m in enumerate(mask) if not m], [i for i, m in enumerate(mask) if m]


def a_outputs(flow: Flow, transformed: int) -> int:
    if flow.law == "additive":
        return 0
    if flow.law == "spline":
        return transformed * (3 * flow.bins - 1)
    below_diagonal = transformed * (transformed - 1) // 2
    return transformed + (below_diagonal if flow.law == "shear" else 0)


def net_layout(flow: Flow, prefix: str, inputs: int, outputs: int) -> List[Tuple[str, Tuple[int, ...]]]:
    """(name, shape) of one network's parameters."""
    if flow.residual:
        names = ["in"] + [f"{i:02d}" for i in range(2 * flow.residual)] + ["out"]
        sizes = [inputs] + [flow.width] * (2 * flow.residual + 1) + [outputs]
    else:
        names = [f"{i:02d}" for i in range(flow.depth + 1)]
        sizes = [inputs] + [flow.width] * flow.depth + [outputs]
    layout = []
    for name, fan_in, fan_out in zip(names, sizes, sizes[1:]):
        if flow.residual and name != "in":
            layout += [(f"{prefix}.{name}.g", (fan_in,)), (f"{prefix}.{name}.s", (fan_in,))]
        layout += [(f"{prefix}.{name}.w", (fan_in, fan_out)), (f"{prefix}.{name}.b", (fan_out,))]
    return layout


def parameter_layout(flow: Flow) -> List[Tuple[str, Tuple[int, ...]]]:
    """(name, shape) in flat order: the embedding; a coupling's s, then network A, then B; weights are (in, out), row-major."""
    layout = embed_layout(flow.embed, flow.dim_y) if flow.embed else []
    for layer in range(flow.layers):
        if flow.kind(layer) != "coupling":
            layout += linear_layout(flow.kind(layer), f"layer.{layer:03d}", flow.dim)
            continue
        kept, moved = split(flow.mask(layer))
        if flow.law not in ("additive", "spline"):
            layout.append((f"layer.{layer:03d}.s", (1,)))
        for net, outputs in (("A", a_outputs(flow, len(moved))), ("B", 0 if flow.law == "spline" else len(moved))):
            if outputs:
                layout += net_layout(flow, f"layer.{layer:03d}.{net}", len(kept), outputs)
    return layout


def linear_layout(kind: str, prefix: str, m: int) -> List[Tuple[str, Tuple[int, ...]]]:
    """(name, shape) of an actnorm's or a mixing's parameters, for m elements or channels."""
    if kind == "actnorm":
        return [(f"{prefix}.actnorm.a", (m,)), (f"{prefix}.actnorm.b", (m,))]
    return [(f"{prefix}.mixing.lu", (m, m))]


def embed_layout(embed: Embedding, dim_y: int) -> List[Tuple[str, Tuple[int, ...]]]:
    """(name, shape) of the parameters of an embedding."""
    sizes = [(dim_y, embed.width)] + [(embed.width, embed.width)] * (embed.layers - 1)
    if embed.kind == "conv1d":
        before = [dim_y // embed.steps] + [embed.channels] * (embed.layers - 1)
        flat = padding(embed.steps, embed.layers)[2] * embed.channels
        sizes = [(KERNEL * c, embed.channels) for c in before] + [(flat, embed.width)]
    layout = []
    for i, (fan_in, fan_out) in enumerate(sizes + [(embed.width, embed.size)]):
        layout += [(f"embed.{i:02d}.w", (fan_in, fan_out)), (f"embed.{i:02d}.b", (fan_out,))]
    return layout


def embedding(embed: Embedding, parameters: Parameters, y: torch.Tensor) -> torch.Tensor:
    """y (n, dim_y) -> (n, size). Convolutions by PyTorch's own, of y with zeros around it."""
    def leaky(t):
        return torch.nn.functional.leaky_relu(t, EMBED_SLOPE)

    h, dense_from = y, 0
    if embed.kind == "conv1d":
        before, after, _ = padding(embed.steps, embed.layers)
        h = torch.nn.functional.pad(y.reshape(len(y), embed.steps, -1).permute(0, 2, 1), (before, after))
        for i in range(embed.layers):
            w, b = parameters[f"embed.{i:02d}.w"], parameters[f"embed.{i:02d}.b"]
            kernel = w.reshape(KERNEL, h.shape[1], -1).permute(2, 1, 0)
            h = leaky(torch.nn.functional.conv1d(h, kernel, b, stride=STRIDE))
        h, dense_from = h.permute(0, 2, 1).reshape(len(y), -1), embed.layers
    last = sum(name.startswith("embed.") for name in parameters) // 2 - 1
    for i in range(dense_from, last + 1):
        h = h @ parameters[f"embed.{i:02d}.w"] + parameters[f"embed.{i:02d}.b"]
        h = leaky(h) if i < last else h
    return h


# ---- numbers that both sides can compute -----------------------------------------------------------------

def splitmix_uniform(seed: int, count: int, first: int = 0) -> np.ndarray:
    """u_k in [0, 1) for k = first .. first + count - 1: the top 53 bits of splitmix64's k-th output."""
    golden, mul1, mul2 = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    k = np.arange(first, first + count, dtype=np.uint64)
    z = np.uint64(seed) + (k + np.uint64(1)) * golden  # modulo 2^64
    z = (z ^ (z >> np.uint64(30))) * mul1
    z = (z ^ (z >> np.uint64(27))) * mul2
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def splitmix_symmetric(seed: int, count: int, first: int = 0) -> np.ndarray:
    """2u - 1, in [-1, 1)."""
    return 2.0 * splitmix_uniform(seed, count, first) - 1.0


def formula_parameters(flow: Flow, seed: int) -> Parameters:
    """With c = 2u - 1 by flat index: s = 1 + 0.2c, bias = 0.05c, weight = gain sqrt(3 / fan_in) c;
    the gain is 1 for hidden layers and 0.1 for the output layer, 0.4 where that is a spline's; of norms scale g = 1 + 0.2c and
    shift s = 0.1c; a of an actnorm and lu of a mixing = 0.3c. Float64 leaves that require gradients."""
    parameters, first = {}, 0
    for name, shape in parameter_layout(flow):
        count = math.prod(shape)
        c = splitmix_symmetric(seed, count, first)
        in_network = name.count(".") > 2
        if name.endswith(".s") and in_network:
            values = 0.1 * c
        elif name.endswith((".s", ".g")):
            values = 1.0 + 0.2 * c
        elif name.endswith(".b"):
            values = 0.05 * c
        elif name.endswith((".a", ".lu")):
            values = 0.3 * c
        elif name.startswith("embed."):
            values = math.sqrt(3.0 / shape[0]) * c
        else:
            is_output = name.split(".")[3] == ("out" if flow.residual else f"{flow.depth:02d}")
            values = (1.0 if not is_output else 0.4 if flow.law == "spline" else 0.1) * math.sqrt(3.0 / shape[0]) * c
        parameters[name] = torch.from_numpy(values.reshape(shape)).requires_grad_(True)
        first += count
    return parameters


def formula_points(n: int, dim: int, seed: int) -> torch.Tensor:
    """Points (n, dim), each element 2(2u - 1), row-major."""
    return torch.from_numpy(2.0 * splitmix_symmetric(seed, n * dim).reshape(n, dim))


# ---- the flow --------------------------------------------------------------------------------------------

NORM_EPSILON = 1e-3


def normed(parameters: Parameters, prefix: str, h: torch.Tensor) -> torch.Tensor:
    """Layer norm of Leaky ReLU(h)."""
    return torch.nn.functional.layer_norm(torch.nn.functional.leaky_relu(h, LEAKY_SLOPE), h.shape[-1:],
                                          parameters[f"{prefix}.g"], parameters[f"{prefix}.s"], NORM_EPSILON)


def residual(flow: Flow, parameters: Parameters, prefix: str, u1: torch.Tensor) -> torch.Tensor:
    def linear(name, x):
        return x @ parameters[f"{prefix}.{name}.w"] + parameters[f"{prefix}.{name}.b"]

    h = linear("in", u1)
    for i in range(flow.residual):
        first, second = f"{2 * i:02d}", f"{2 * i + 1:02d}"
        t = linear(first, normed(parameters, f"{prefix}.{first}", h))
        h = h + linear(second, normed(parameters, f"{prefix}.{second}", t))
    return linear("out", normed(parameters, f"{prefix}.out", h))


def network(flow: Flow, parameters: Parameters, prefix: str, u1: torch.Tensor) -> torch.Tensor:
    return (residual if flow.residual else dense)(flow, parameters, prefix, u1)


def dense(flow: Flow, parameters: Parameters, prefix: str, h: torch.Tensor) -> torch.Tensor:
    """depth times (h W + b, Leaky ReLU), then a linear output."""
    for i in range(flow.depth + 1):
        h = h @ parameters[f"{prefix}.{i:02d}.w"] + parameters[f"{prefix}.{i:02d}.b"]
        if i < flow.depth:
            h = torch.nn.functional.leaky_relu(h, LEAKY_SLOPE)
    return h


def coupling_terms(flow: Flow, parameters: Parameters, layer: int, u1: torch.Tensor, transformed: int):
    """a (n, m2), b (n, m2) and, for shear, the entries below the diagonal (n, m2 (m2 - 1) / 2)."""
    prefix = f"layer.{layer:03d}"
    if flow.law == "additive":
        b = network(flow, parameters, f"{prefix}.B", u1)
        return torch.zeros_like(b), b, b[:, :0]
    raw = network(flow, parameters, f"{prefix}.A", u1)
    a = parameters[f"{prefix}.s"] * torch.tanh(raw[:, :transformed])
    return a, network(flow, parameters, f"{prefix}.B", u1), raw[:, transformed:]


def row(below: torch.Tensor, i: int) -> torch.Tensor:
    """Entries L_i0 .. L_i,i-1 of the strictly lower triangle, (n, i)."""
    start = i * (i - 1) // 2
    return below[:, start:start + i]


LEAST = 1e-3  # of a width or height as a share, and of a derivative


def spline_knots(flow: Flow, raw: torch.Tensor):
    """Knots (n, bins + 1) on both axes and the derivatives there, from one element's numbers (n, 3 bins - 1)."""
    def edges(numbers):
        parts = 2 * flow.bound * (LEAST + (1 - LEAST * flow.bins) * torch.softmax(numbers, dim=1))
        return torch.cat([torch.zeros_like(parts[:, :1]), torch.cumsum(parts, dim=1)], dim=1) - flow.bound

    level = math.log(math.expm1(1 - LEAST))
    inner = LEAST + torch.nn.functional.softplus(raw[:, 2 * flow.bins:] + level)
    ends = torch.ones_like(raw[:, :1])
    return (edges(raw[:, :flow.bins]), edges(raw[:, flow.bins:2 * flow.bins]), torch.cat([ends, inner, ends], dim=1))


def spline_piece(flow: Flow, raw: torch.Tensor, at: torch.Tensor, axis: int):
    """left, width, bottom, height, and the derivatives at both ends, of the piece that holds `at` on the axis."""
    knots = spline_knots(flow, raw)
    k = (at[:, None] >= knots[axis][:, 1:-1]).sum(1, keepdim=True)
    left, right = knots[0].gather(1, k)[:, 0], knots[0].gather(1, k + 1)[:, 0]
    bottom, top = knots[1].gather(1, k)[:, 0], knots[1].gather(1, k + 1)[:, 0]
    return left, right - left, bottom, top - bottom, knots[2].gather(1, k)[:, 0], knots[2].gather(1, k + 1)[:, 0]


def spline_at(piece, xi: torch.Tensor):
    """v and log dv/du at the share xi of the piece's width."""
    _, width, bottom, height, d0, d1 = piece
    slope = height / width
    below = slope + (d1 + d0 - 2 * slope) * xi * (1 - xi)
    v = bottom + height * (slope * xi**2 + d0 * xi * (1 - xi)) / below
    rise = slope**2 * (d1 * xi**2 + 2 * slope * xi * (1 - xi) + d0 * (1 - xi)**2) / below**2
    return v, torch.log(rise)


def spline_forward(flow: Flow, raw: torch.Tensor, u: torch.Tensor):
    """One element u (n) by its numbers (n, 3 bins - 1)."""
    inside = (u > -flow.bound) & (u < flow.bound)
    safe = torch.where(inside, u, torch.zeros_like(u))
    piece = spline_piece(flow, raw, safe, 0)
    v, log_rise = spline_at(piece, (safe - piece[0]) / piece[1])
    return torch.where(inside, v, u), torch.where(inside, log_rise, torch.zeros_like(u))


def spline_inverse(flow: Flow, raw: torch.Tensor, v: torch.Tensor):
    inside = (v > -flow.bound) & (v < flow.bound)
    safe = torch.where(inside, v, torch.zeros_like(v))
    piece = spline_piece(flow, raw, safe, 1)
    left, width, bottom, height, d0, d1 = piece
    slope, y = height / width, safe - bottom
    curve = d1 + d0 - 2 * slope
    a, b, c = height * (slope - d0) + y * curve, height * d0 - y * curve, -slope * y
    xi = 2 * c / (-b - torch.sqrt(b**2 - 4 * a * c))
    _, log_rise = spline_at(piece, xi)
    return torch.where(inside, left + width * xi, v), torch.where(inside, log_rise, torch.zeros_like(v))


def spline_layer(flow: Flow, parameters: Parameters, layer: int, state: torch.Tensor, one_element):
    """A coupling by splines, in either direction."""
    mask = flow.mask(layer)
    kept, moved = split(mask)
    raw = network(flow, parameters, f"layer.{layer:03d}.A", state[:, kept]).reshape(len(state), len(moved), -1)
    results = [one_element(flow, raw[:, i], state[:, j]) for i, j in enumerate(moved)]
    return merge(mask, state[:, kept], [r[0] for r in results]), sum(r[1] for r in results)


def merge(mask, part1: torch.Tensor, part2: List[torch.Tensor]) -> torch.Tensor:
    """The state (n, D) from the kept part (n, k) and the transformed columns (m2 of (n,))."""
    kept, moved = iter(part1.unbind(1)), iter(part2)
    return torch.stack([next(moved) if m else next(kept) for m in mask], dim=1)


def triangles(lu: torch.Tensor):
    """L and U of a mixing."""
    return (torch.tril(lu, -1) + torch.eye(len(lu), dtype=lu.dtype),
            torch.triu(lu, 1) + torch.diag(torch.exp(torch.diagonal(lu))))


def linear_forward(kind: str, parameters: Parameters, prefix: str, p, u: torch.Tensor):
    """An actnorm or a mixing of the last dimension of u (..., m), and its log-determinant for each (...)."""
    if kind == "actnorm":
        a, b = parameters[f"{prefix}.actnorm.a"], parameters[f"{prefix}.actnorm.b"]
        return torch.exp(a) * u + b, a.sum().expand(u.shape[:-1])
    lu = parameters[f"{prefix}.mixing.lu"]
    lower, upper = triangles(lu)
    mixed = u @ (lower @ upper).T
    places = [p.index(j) for j in range(len(p))]  # which element comes to place j
    return mixed[..., places], torch.diagonal(lu).sum().expand(u.shape[:-1])


def linear_inverse(kind: str, parameters: Parameters, prefix: str, p, v: torch.Tensor):
    if kind == "actnorm":
        a, b = parameters[f"{prefix}.actnorm.a"], parameters[f"{prefix}.actnorm.b"]
        return (v - b) * torch.exp(-a), a.sum().expand(v.shape[:-1])
    lu = parameters[f"{prefix}.mixing.lu"]
    lower, upper = triangles(lu)
    return (v[..., list(p)] @ torch.linalg.inv(lower @ upper).T,
            torch.diagonal(lu).sum().expand(v.shape[:-1]))


def permutation_of(flow, layer: int):
    return flow.permutation(layer) if flow.kind(layer) == "mixing" else None


def layer_forward(flow: Flow, parameters: Parameters, layer: int, u: torch.Tensor):
    if flow.kind(layer) != "coupling":
        return linear_forward(flow.kind(layer), parameters, f"layer.{layer:03d}", permutation_of(flow, layer), u)
    if flow.law == "spline":
        return spline_layer(flow, parameters, layer, u, spline_forward)
    mask = flow.mask(layer)
    kept, moved = split(mask)
    u1, u2 = u[:, kept], u[:, moved]
    a, b, below = coupling_terms(flow, parameters, layer, u1, len(moved))
    v2 = []
    for i in range(len(moved)):
        v_i = torch.exp(a[:, i]) * u2[:, i] + b[:, i]
        if flow.law == "shear":
            v_i = v_i + (row(below, i) * u2[:, :i]).sum(1)
        v2.append(v_i)
    return merge(mask, u1, v2), a.sum(1)


def layer_inverse(flow: Flow, parameters: Parameters, layer: int, v: torch.Tensor):
    if flow.kind(layer) != "coupling":
        return linear_inverse(flow.kind(layer), parameters, f"layer.{layer:03d}", permutation_of(flow, layer), v)
    if flow.law == "spline":
        return spline_layer(flow, parameters, layer, v, spline_inverse)
    mask = flow.mask(layer)
    kept, moved = split(mask)
    v1, v2 = v[:, kept], v[:, moved]
    a, b, below = coupling_terms(flow, parameters, layer, v1, len(moved))
    u2: List[torch.Tensor] = []
    for i in range(len(moved)):
        rest = v2[:, i] - b[:, i]
        if flow.law == "shear":  # forward substitution
            for j in range(i):
                rest = rest - row(below, i)[:, j] * u2[j]
        u2.append(rest * torch.exp(-a[:, i]))
    return merge(mask, v1, u2), a.sum(1)


def forward(flow: Flow, parameters: Parameters, u: torch.Tensor):
    """Data -> latent (by rule: latent -> data): v = F(u) (n, D) and log|det J_F(u)| (n,)."""
    logdet, y = u.new_zeros(u.shape[0]), u[:, flow.dim_x:]
    if flow.embed:  # as in training, where nobody asks for the gradient of y
        u = torch.cat([u[:, :flow.dim_x], embedding(flow.embed, parameters, y.detach())], dim=1)
    for layer in range(flow.layers):
        u, layer_logdet = layer_forward(flow, parameters, layer, u)
        logdet = logdet + layer_logdet
    return torch.cat([u[:, :flow.dim_x], y], dim=1) if flow.embed else u, logdet


def inverse(flow: Flow, parameters: Parameters, v: torch.Tensor):
    """The backward pass: u = F^{-1}(v) (n, D) and log|det J_F(u)| (n,), the determinant of the *forward* direction."""
    logdet, y = v.new_zeros(v.shape[0]), v[:, flow.dim_x:]
    if flow.embed:
        v = torch.cat([v[:, :flow.dim_x], embedding(flow.embed, parameters, y)], dim=1)
    for layer in reversed(range(flow.layers)):
        v, layer_logdet = layer_inverse(flow, parameters, layer, v)
        logdet = logdet + layer_logdet
    return torch.cat([v[:, :flow.dim_x], y], dim=1) if flow.embed else v, logdet


# ---- objectives: terms whose sum is the loss -------------------------------------------------------------

DISTANCES = {
    "l1": lambda difference: difference.abs().sum(1),
    "l2": lambda difference: difference.square().sum(1),
}

RULES = {
    "circle": lambda x, size: (x.square().sum(1) - size**2).abs(),
    "diamond": lambda x, size: (x[:, 0].abs() + x[:, 1].abs() - size).abs(),
    "line": lambda x, size: (x[:, 0] + x[:, 1]).abs(),
    "cross": lambda x, size: (x[:, 0] * x[:, 1]).abs(),
    "parabola": lambda x, size: (x[:, 1] - x[:, 0].square()).abs(),
}


def data_terms(flow: Flow, parameters: Parameters, u: torch.Tensor, weight: float, distance: str):
    """Joint, fixed and (with dim_y = 0) plain objective; returns v, logdet and the terms
        z:      mean( 1/2 |z|^2 + dim_x/2 log 2 pi )
        y:      mean( weight * d(y', y) )       y is a target here: no gradient flows into u through it
        logdet: mean( -log|det J_F| )
    """
    v, logdet = forward(flow, parameters, u)
    z, y_prime = v[:, :flow.dim_x], v[:, flow.dim_x:]
    y = u[:, flow.dim_x:].detach()
    terms = {
        "z": (0.5 * z.square().sum(1) + 0.5 * flow.dim_x * math.log(2.0 * math.pi)).mean(),
        "y": (weight * DISTANCES[distance](y_prime - y)).mean(),
        "logdet": -logdet.mean(),
    }
    return v, logdet, terms


def gaussian_terms(flow: Flow, parameters: Parameters, u: torch.Tensor, sigma: float):
    """The same with y' normally distributed around y; y: mean( -log N(y'; y, sigma^2) ), summed over the elements."""
    v, logdet, terms = data_terms(flow, parameters, u, 0.0, "l2")
    p_y = torch.distributions.Normal(u[:, flow.dim_x:].detach(), sigma)
    return v, logdet, {**terms, "y": -p_y.log_prob(v[:, flow.dim_x:]).sum(1).mean()}


def rule_terms(flow: Flow, parameters: Parameters, z: torch.Tensor, weight: float, rule: str, size: float):
    """Training by rule, of a flow that runs forward from latent points; returns x = F(z), log|det J_F(z)| and the terms
        rule:   mean( weight * d(x) )
        logdet: mean( -log|det J_F(z)| )
    """
    x, logdet = forward(flow, parameters, z)
    return x, logdet, {"rule": (weight * RULES[rule](x, size)).mean(), "logdet": -logdet.mean()}


# Objectives with [loss] keys of their own, by their names in a recipe.
OBJECTIVES = {"gaussian": gaussian_terms}
