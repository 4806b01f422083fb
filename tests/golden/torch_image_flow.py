"""The image flow written a second time, in PyTorch, with gradients by autograd: torch_flow.py for pictures.

It shares no code with the C library. Splits and squeezes are slices of images here, not index maps, and convolutions
are PyTorch's. Same interface as torch_flow.py: parameters are a dict name -> tensor in flat order, points are (n, D),
D = h w c, row-major (h, w, c), the channels of x before those of y.

    F : u = (x, y) -> v = (z, y'),   blocks of four affine coupling layers, log-determinants per sample (n,)

    layer 4 b + 0   checkerboard   u1 = pixels with even i + j, u2 = the odd ones
    layer 4 b + 1   checkerboard   the reverse
    layer 4 b + 2   channelwise    u1 = even channels, u2 = the odd ones
    layer 4 b + 3   channelwise    the reverse

    a = s * tanh(A(u1))      b = B(u1)      v2 = exp(a) * u2 + b      log|det| = sum a

Each of these layers may be one of several of its step: ImageFlow.transforms names them, in their order, "coupling" among
them. An actnorm or a mixing (torch_flow.py) treats the channels of the active image, at every pixel alike. Layers are
numbered along the chain; `layer` in the functions below counts the couplings, that is, the steps.

A block that is followed by a squeeze hands on the lower half of every 2x2 cell only: the active image is then
(h/2, w/2, 2c), and i, j and the channel count within it. What has left keeps its place in (h, w, c).

With a fixed condition y is never transformed: x alone is split as above, and all of y joins u1. Where x has a single
channel, both channelwise layers have u1 = y, u2 = x.
"""
import math
from dataclasses import dataclass
from typing import List, Tuple

import torch
from torch.nn.functional import conv2d, layer_norm, leaky_relu

from torch_flow import DISTANCES, LEAKY_SLOPE, Parameters, formula_points, splitmix_symmetric  # noqa: F401
from torch_flow import linear_forward, linear_inverse, linear_layout

NORM_EPSILON = 1e-3
LAYERS_A_BLOCK = 4

# Pixels (di, dj) of a 2x2 cell, in the order in which they are stacked as channels: channel = place * c + ch.
EVEN_PIXELS = ((0, 0), (1, 1))
ODD_PIXELS = ((0, 1), (1, 0))
CELL = ((0, 0), (0, 1), (1, 0), (1, 1))

Image = Tuple[int, int, int]  # h, w, c


@dataclass(frozen=True)
class ImageFlow:
    height: int
    width: int
    channels_x: int
    channels_y: int
    condition: str  # "joint" or "fixed"
    net_channels: Tuple[int, ...]  # K of each block; checkerboard layers use K/2
    cardinality: Tuple[int, ...]  # of each block
    squeeze: Tuple[int, ...]  # of each block: 1 = squeeze and factor after it
    residual_blocks: int
    norm: str  # scale and bias of the layer norms: one an "element" or one a "channel"
    transforms: Tuple[str, ...] = ("coupling",)  # of each step
    permutations: Tuple[Tuple[int, ...], ...] = ()  # p (channels) of each mixing, in the order of the chain

    def __post_init__(self):
        if self.condition == "fixed" and self.transforms != ("coupling",):
            raise ValueError("other transforms than couplings with a fixed condition are not defined here")
        if not len(self.net_channels) == len(self.cardinality) == len(self.squeeze):
            raise ValueError("net_channels, cardinality and squeeze have one number per block")
        if self.condition == "fixed" and any(self.squeeze):
            raise ValueError("a fixed condition with a squeeze is not defined here")
        if self.squeeze[-1]:
            raise ValueError("a squeeze after the last block has nothing to hand on to")

    @property
    def blocks(self) -> int:
        return len(self.squeeze)

    @property
    def steps(self) -> int:
        return LAYERS_A_BLOCK * self.blocks

    @property
    def layers(self) -> int:
        return self.steps * len(self.transforms)

    def prefix(self, step: int, kind: str = "coupling") -> str:
        """Of the names of what belongs to this transform of a step."""
        return f"layer.{step * len(self.transforms) + self.transforms.index(kind):03d}"

    @property
    def channels(self) -> int:
        return self.channels_x + self.channels_y

    @property
    def dim_x(self) -> int:
        return self.height * self.width * self.channels_x

    @property
    def dim_y(self) -> int:
        return self.height * self.width * self.channels_y

    @property
    def dim(self) -> int:
        return self.dim_x + self.dim_y


# ---- splits and squeezes ---------------------------------------------------------------------------------

def stack(image: torch.Tensor, pixels) -> torch.Tensor:
    """(n, h, w, c) -> (n, h/2, w/2, len(pixels) c): the given pixels of every 2x2 cell as channels."""
    return torch.cat([image[:, i::2, j::2] for i, j in pixels], dim=3)


def unstack(image: torch.Tensor, stacked: torch.Tensor, pixels) -> torch.Tensor:
    """A copy of the image with these pixels of every cell replaced by the stacked ones."""
    image = image.clone()
    for (i, j), part in zip(pixels, stacked.chunk(len(pixels), dim=3)):
        image[:, i::2, j::2] = part
    return image


def factor(image: torch.Tensor):
    """Space-to-depth, then halves (n, h/2, w/2, 2c): what leaves, the upper row of the cells, and what goes on."""
    return stack(image, CELL).chunk(2, dim=3)


def unfactor(leaving: torch.Tensor, active: torch.Tensor) -> torch.Tensor:
    n, h, w, c = active.shape
    return unstack(active.new_empty(n, 2 * h, 2 * w, c // 2), torch.cat([leaving, active], dim=3), CELL)


def free_channels(flow: ImageFlow, c: int) -> int:
    """Of c channels the first so many take part in the split; the rest, a fixed condition, belong to u1 always."""
    return flow.channels_x if flow.condition == "fixed" else c


def checkerboard_pixels(layer: int):
    """The kept and the transformed pixels of a checkerboard layer, None for a channelwise one."""
    return {0: (EVEN_PIXELS, ODD_PIXELS), 1: (ODD_PIXELS, EVEN_PIXELS)}.get(layer % LAYERS_A_BLOCK)


def moved_channels(layer: int, free: int) -> slice:
    """The transformed channels of a channelwise layer; a single free channel is transformed by both kinds."""
    return slice(0 if free == 1 else 3 - layer % LAYERS_A_BLOCK, free, 2)


def kept_channels(layer: int, free: int) -> slice:
    return slice(free if free == 1 else layer % LAYERS_A_BLOCK - 2, free, 2)


def split(flow: ImageFlow, layer: int, u: torch.Tensor):
    """u1 (n, h', w', k) and u2 (n, h', w', m) of the active image."""
    free = free_channels(flow, u.shape[3])
    image, given = u[..., :free], u[..., free:]
    if pixels := checkerboard_pixels(layer):
        kept, moved = pixels
        return torch.cat([stack(image, kept), stack(given, CELL)], dim=3), stack(image, moved)
    return torch.cat([image[..., kept_channels(layer, free)], given], dim=3), image[..., moved_channels(layer, free)]


def replace(flow: ImageFlow, layer: int, u: torch.Tensor, part2: torch.Tensor) -> torch.Tensor:
    """The active image with part2 (n, h', w', m) in the places of u2."""
    free = free_channels(flow, u.shape[3])
    image, given = u[..., :free], u[..., free:]
    if pixels := checkerboard_pixels(layer):
        image = unstack(image, part2, pixels[1])
    else:
        image = image.clone()
        image[..., moved_channels(layer, free)] = part2
    return torch.cat([image, given], dim=3)


# ---- shapes and parameters -------------------------------------------------------------------------------

def active_shape(flow: ImageFlow, block: int) -> Image:
    squeezes = sum(flow.squeeze[:block])
    return flow.height >> squeezes, flow.width >> squeezes, flow.channels << squeezes


def layer_shapes(flow: ImageFlow, layer: int) -> Tuple[Image, Image]:
    """Shapes of u1 and u2."""
    u1, u2 = split(flow, layer, torch.empty(1, *active_shape(flow, layer // LAYERS_A_BLOCK)))
    return tuple(u1.shape[1:]), tuple(u2.shape[1:])


def net_size(flow: ImageFlow, layer: int) -> Tuple[int, int]:
    """K and cardinality of a layer's networks."""
    block = layer // LAYERS_A_BLOCK
    k = flow.net_channels[block]
    return k // 2 if checkerboard_pixels(layer) else k, flow.cardinality[block]


def dilations(h: int, w: int, cardinality: int) -> List[int]:
    """1, then 2, 4, ... while the kernel 2d + 1 is at most half of the image and d divides the cardinality."""
    found, d = [1], 2
    while 2 * d + 1 <= min(h, w) / 2 and cardinality % d == 0:
        found.append(d)
        d *= 2
    return found


def net_layout(flow: ImageFlow, layer: int) -> List[Tuple[str, Tuple[int, ...]]]:
    """(name, shape) of one network, in flat order; convolution weights are (kh, kw, inputs a group, outputs)."""
    (h, w, inputs), (_, _, outputs) = layer_shapes(flow, layer)
    k, cardinality = net_size(flow, layer)
    branches = dilations(h, w, cardinality)
    concatenated = sum(k // d for d in branches)

    def conv(name, kernel, c_in, c_out):
        return [(f"{name}.w", (kernel, kernel, c_in, c_out)), (f"{name}.b", (c_out,))]

    def norm(name, c):
        shape = (h, w, c) if flow.norm == "element" else (c,)
        return [(f"{name}.g", shape), (f"{name}.b", shape)]

    layout = conv("in", 3, inputs, k)
    for r in range(flow.residual_blocks):
        layout += norm(f"r{r}.n0", k) + conv(f"r{r}.c0", 1, k, k) + norm(f"r{r}.n1", k)
        for d in branches:
            layout += conv(f"r{r}.d{d}", 3, k * d // cardinality, k // d)
        layout += norm(f"r{r}.n2", concatenated) + conv(f"r{r}.c1", 1, concatenated, k)
    return layout + norm("n", k) + conv("out", 3, k, outputs)


def parameter_layout(flow: ImageFlow) -> List[Tuple[str, Tuple[int, ...]]]:
    """(name, shape) in flat order: a coupling's s, then network A, then B."""
    layout = []
    for layer, kind in ((step, kind) for step in range(flow.steps) for kind in flow.transforms):
        if kind != "coupling":
            channels = active_shape(flow, layer // LAYERS_A_BLOCK)[2]
            layout += linear_layout(kind, flow.prefix(layer, kind), channels)
            continue
        layout.append((f"{flow.prefix(layer)}.s", (1,)))
        for net in "AB":
            layout += [(f"{flow.prefix(layer)}.{net}.{name}", shape) for name, shape in net_layout(flow, layer)]
    return layout


def formula_parameters(flow: ImageFlow, seed: int) -> Parameters:
    """With c = 2u - 1 by flat index: s = 1 + 0.2c; norms: scale = 1 + 0.2c, bias = 0.1c; convolutions: bias = 0.05c,
    weight = gain sqrt(3 / fan_in) c, fan_in = kh kw (inputs a group), gain 0.7, 0.2 for the output; a of an actnorm and
    lu of a mixing = 0.3c.
    Float64 leaves that require gradients."""
    parameters, first = {}, 0
    for name, shape in parameter_layout(flow):
        count = math.prod(shape)
        c = splitmix_symmetric(seed, count, first)
        *_, owner, kind = name.split(".")
        if kind in ("s", "g"):
            values = 1.0 + 0.2 * c
        elif kind in ("a", "lu"):
            values = 0.3 * c
        elif kind == "b":
            values = (0.1 if owner.startswith("n") else 0.05) * c
        else:
            values = (0.2 if owner == "out" else 0.7) * math.sqrt(3.0 / math.prod(shape[:3])) * c
        parameters[name] = torch.from_numpy(values.reshape(shape)).requires_grad_(True)
        first += count
    return parameters


# ---- the network -----------------------------------------------------------------------------------------

def resnext(flow: ImageFlow, parameters: Parameters, layer: int, net: str, u1: torch.Tensor) -> torch.Tensor:
    """(n, h, w, k) -> (n, h, w, m):
        h = conv3x3(u1);  R times: h = h + residual(h);  conv3x3(LN(lrelu(h)))
        residual:  LN(lrelu), conv1x1,  LN(lrelu), grouped conv3x3 of each dilation, concatenated,  LN(lrelu), conv1x1
    """
    prefix = f"{flow.prefix(layer)}.{net}"
    cardinality = net_size(flow, layer)[1]
    branches = dilations(u1.shape[1], u1.shape[2], cardinality)

    def conv(name, t, groups=1, dilation=1):
        """out(i, j) = bias + sum_{a, b} w(a, b) in(i + (a - 1) d, j + (b - 1) d) for a 3x3 kernel, zero outside."""
        weights, bias = parameters[f"{prefix}.{name}.w"], parameters[f"{prefix}.{name}.b"]
        weights = weights.permute(3, 2, 0, 1).contiguous()  # (outputs, inputs a group, kh, kw)
        t = t.permute(0, 3, 1, 2).contiguous()
        padding = dilation * (weights.shape[2] // 2)
        t = conv2d(t, weights, bias, padding=padding, dilation=dilation, groups=groups)
        return t.permute(0, 2, 3, 1)

    def normalised(name, t):
        """Leaky ReLU, then the layer norm over all h w c elements of a sample (biased variance)."""
        t = layer_norm(leaky_relu(t, LEAKY_SLOPE), t.shape[1:], eps=NORM_EPSILON)
        return t * parameters[f"{prefix}.{name}.g"] + parameters[f"{prefix}.{name}.b"]

    h = conv("in", u1)
    for r in range(flow.residual_blocks):
        t = conv(f"r{r}.c0", normalised(f"r{r}.n0", h))
        t = normalised(f"r{r}.n1", t)
        t = torch.cat([conv(f"r{r}.d{d}", t, groups=cardinality // d, dilation=d) for d in branches], dim=3)
        h = h + conv(f"r{r}.c1", normalised(f"r{r}.n2", t))
    return conv("out", normalised("n", h))


# ---- the flow --------------------------------------------------------------------------------------------

def coupling_terms(flow: ImageFlow, parameters: Parameters, layer: int, u1: torch.Tensor):
    a = parameters[f"{flow.prefix(layer)}.s"] * torch.tanh(resnext(flow, parameters, layer, "A", u1))
    return a, resnext(flow, parameters, layer, "B", u1)


def layer_forward(flow: ImageFlow, parameters: Parameters, layer: int, u: torch.Tensor):
    u1, u2 = split(flow, layer, u)
    a, b = coupling_terms(flow, parameters, layer, u1)
    return replace(flow, layer, u, torch.exp(a) * u2 + b), a.sum((1, 2, 3))


def layer_inverse(flow: ImageFlow, parameters: Parameters, layer: int, v: torch.Tensor):
    v1, v2 = split(flow, layer, v)
    a, b = coupling_terms(flow, parameters, layer, v1)
    return replace(flow, layer, v, (v2 - b) * torch.exp(-a)), a.sum((1, 2, 3))


def step_forward(flow: ImageFlow, parameters: Parameters, step: int, u: torch.Tensor, logdets: List[torch.Tensor]):
    """All transforms of a step; appends the log-determinant of each."""
    for kind in flow.transforms:
        if kind == "coupling":
            u, logdet = layer_forward(flow, parameters, step, u)
        else:
            p = flow.permutations[step] if kind == "mixing" else None
            u, logdet = linear_forward(kind, parameters, flow.prefix(step, kind), p, u)
            logdet = logdet.sum((1, 2))
        logdets.append(logdet)
    return u


def step_inverse(flow: ImageFlow, parameters: Parameters, step: int, v: torch.Tensor, logdets: List[torch.Tensor]):
    for kind in reversed(flow.transforms):
        if kind == "coupling":
            v, logdet = layer_inverse(flow, parameters, step, v)
        else:
            p = flow.permutations[step] if kind == "mixing" else None
            v, logdet = linear_inverse(kind, parameters, flow.prefix(step, kind), p, v)
            logdet = logdet.sum((1, 2))
        logdets.append(logdet)
    return v


def block_layers(block: int) -> range:
    return range(LAYERS_A_BLOCK * block, LAYERS_A_BLOCK * (block + 1))


def forward_from(flow: ImageFlow, parameters: Parameters, block: int, u: torch.Tensor, logdets: List[torch.Tensor]):
    """This block and all that follow, on the active image; appends each layer's log-determinant."""
    if block == flow.blocks:
        return u
    for layer in block_layers(block):
        u = step_forward(flow, parameters, layer, u, logdets)
    if not flow.squeeze[block]:
        return forward_from(flow, parameters, block + 1, u, logdets)
    leaving, active = factor(u)
    return unfactor(leaving, forward_from(flow, parameters, block + 1, active, logdets))


def inverse_from(flow: ImageFlow, parameters: Parameters, block: int, v: torch.Tensor, logdets: List[torch.Tensor]):
    """Undoes forward_from."""
    if block == flow.blocks:
        return v
    if flow.squeeze[block]:
        leaving, active = factor(v)
        v = unfactor(leaving, inverse_from(flow, parameters, block + 1, active, logdets))
    else:
        v = inverse_from(flow, parameters, block + 1, v, logdets)
    for layer in reversed(block_layers(block)):
        v = step_inverse(flow, parameters, layer, v, logdets)
    return v


def as_images(flow: ImageFlow, points: torch.Tensor) -> torch.Tensor:
    return points.reshape(-1, flow.height, flow.width, flow.channels)


def forward_by_layer(flow: ImageFlow, parameters: Parameters, u: torch.Tensor):
    """Data -> latent: v = F(u) (n, D) and the log-determinant of every layer (layers, n)."""
    logdets: List[torch.Tensor] = []
    v = forward_from(flow, parameters, 0, as_images(flow, u), logdets)
    return v.reshape(u.shape), torch.stack(logdets)


def forward(flow: ImageFlow, parameters: Parameters, u: torch.Tensor):
    """Data -> latent: v = F(u) (n, D) and log|det J_F(u)| (n,)."""
    v, logdets = forward_by_layer(flow, parameters, u)
    return v, logdets.sum(0)


def inverse(flow: ImageFlow, parameters: Parameters, v: torch.Tensor):
    """Latent -> data: u = F^{-1}(v) (n, D) and log|det J_F(u)| (n,), the determinant of *data -> latent*."""
    logdets: List[torch.Tensor] = []
    u = inverse_from(flow, parameters, 0, as_images(flow, v), logdets)
    return u.reshape(v.shape), torch.stack(logdets).sum(0)


# ---- the objective ---------------------------------------------------------------------------------------

def x_and_y(flow: ImageFlow, points: torch.Tensor):
    """The x (n, dim_x) and the y (n, dim_y) of points (n, D)."""
    images = as_images(flow, points)
    return images[..., :flow.channels_x].flatten(1), images[..., flow.channels_x:].flatten(1)


def data_terms(flow: ImageFlow, parameters: Parameters, u: torch.Tensor, weight: float, distance: str):
    """torch_flow.data_terms for images; returns v (n, D), the log-determinants (layers, n) and the terms
        z:      mean( 1/2 |z|^2 + dim_x/2 log 2 pi )
        y:      mean( weight * d(y', y) )       y is a target here: no gradient flows into u through it
        logdet: mean( -log|det J_F| )
    """
    v, logdets = forward_by_layer(flow, parameters, u)
    z, y_prime = x_and_y(flow, v)
    y = x_and_y(flow, u)[1].detach()
    terms = {
        "z": (0.5 * z.square().sum(1) + 0.5 * flow.dim_x * math.log(2.0 * math.pi)).mean(),
        "y": (weight * DISTANCES[distance](y_prime - y)).mean(),
        "logdet": -logdets.sum(0).mean(),
    }
    return v, logdets, terms
