"""Checks torch_flow.py and torch_image_flow.py against themselves: inverses, log-determinants and gradients; of images
also the places of the elements and the network, against plain loops. Exits non-zero on a failure.

    python3 tests/golden/check_torch_flow.py
"""
import sys

import numpy as np
import torch

import torch_flow as tf
import torch_image_flow as tif
from make_golden import CASES, IMAGE_CASES, MIXED_CHANNELS, evaluate, image_case

SMALL = [case for case in CASES if case["store_gradient"]]
# Small enough for the whole Jacobian. Not square where a squeeze allows it, so that i and j cannot be mistaken.
TINY_IMAGES = [
    image_case("tiny_chain", tif.ImageFlow(4, 4, 2, 1, "joint", (4, 4), (2, 1), (1, 0), 1, "channel",
                                           ("actnorm", "mixing", "coupling"), MIXED_CHANNELS), 20001),
    image_case("tiny_joint", tif.ImageFlow(4, 4, 1, 1, "joint", (4, 4), (2, 2), (1, 0), 1, "element"), 21001),
    image_case("tiny_colour", tif.ImageFlow(4, 8, 3, 2, "joint", (4, 4), (2, 1), (1, 0), 1, "channel"), 22001),
    image_case("tiny_fixed", tif.ImageFlow(4, 4, 1, 1, "fixed", (4,), (2,), (0,), 2, "element"), 23001),
    image_case("tiny_fixed_colour", tif.ImageFlow(4, 6, 3, 2, "fixed", (4, 4), (1, 2), (0, 0), 1, "channel"), 24001),
]
# Two dilations in the channelwise layers, of 10 x 12 pixels.
NETWORK = image_case("network", tif.ImageFlow(10, 12, 2, 1, "joint", (8,), (4,), (0,), 2, "element"), 25001)


def check_splitmix():
    """The published first outputs of splitmix64 from seed 1234567."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    found = tf.splitmix_uniform(1234567, 4)
    return max(abs(f - (p >> 11) * 2.0**-53) for f, p in zip(found, published)), 0.0


def check_round_trip(case):
    flow, parameters, points = tf_inputs(case)
    with torch.no_grad():
        v, logdet_forward = kind(flow).forward(flow, parameters, points)
        back, logdet_inverse = kind(flow).inverse(flow, parameters, v)
    error = max((back - points).abs().max().item(), (logdet_forward - logdet_inverse).abs().max().item())
    return error, 1e-12


def check_logdet(case):
    """log|det| of the whole Jacobian, both directions, point by point."""
    flow, parameters, points = tf_inputs(case)
    parameters = {name: p.detach() for name, p in parameters.items()}
    worst = 0.0
    for direction, sign in ((kind(flow).forward, 1.0), (kind(flow).inverse, -1.0)):
        for point in points:
            def at(u):
                return direction(flow, parameters, u[None])[0][0]
            jacobian = torch.autograd.functional.jacobian(at, point)
            logdet = direction(flow, parameters, point[None])[1].item()
            worst = max(worst, abs(sign * torch.linalg.slogdet(jacobian)[1].item() - logdet))
    return worst, 1e-12


def check_fixed_condition(case):
    flow, parameters, points = tf_inputs(case)
    v, _ = kind(flow).forward(flow, parameters, points)
    return x_and_y(flow, v - points)[1].abs().max().item(), 0.0


def check_gradient(case):
    """Central differences along random directions in parameters and points; y stays the target of the undisturbed
    points, as in data_terms."""
    flow, parameters, points = tf_inputs(case)
    loss = total_loss(case, flow, parameters, points, points)
    leaves = list(parameters.values()) + [points]
    gradients = torch.autograd.grad(loss, leaves)
    typical = sum(g.square().sum().item() for g in gradients) ** 0.5  # derivative along a normal random direction
    worst = 0.0
    for trial in range(6):
        generator = torch.Generator().manual_seed(trial)
        step = [torch.randn(leaf.shape, generator=generator, dtype=torch.float64) for leaf in leaves]
        if getattr(flow, "embed", None):  # whose y has no gradient, as in training
            step[-1][:, flow.dim_x:] = 0
        exact = sum((g * d).sum().item() for g, d in zip(gradients, step))
        # Small, since a kink between the two points would spoil the difference; images pass half a million of them.
        eps = 1e-8 if kind(flow) is tif else 1e-7
        ends = []
        for sign in (1.0, -1.0):
            moved = [leaf.detach() + sign * eps * d for leaf, d in zip(leaves, step)]
            ends.append(total_loss(case, flow, dict(zip(parameters, moved)), moved[-1], points).item())
        worst = max(worst, abs((ends[0] - ends[1]) / (2 * eps) - exact) / typical)
    return worst, 1e-6


def kind(flow):
    """The module that knows this flow."""
    return tif if isinstance(flow, tif.ImageFlow) else tf


def x_and_y(flow, points):
    return tif.x_and_y(flow, points) if kind(flow) is tif else (points[:, :flow.dim_x], points[:, flow.dim_x:])


def tf_inputs(case):
    flow = case["flow"]
    points = tf.formula_points(case["n"], flow.dim, case["seed_points"]).requires_grad_(True)
    return flow, kind(flow).formula_parameters(flow, case["seed_parameters"]), points


def total_loss(case, flow, parameters, points, target):
    """The loss with the condition's target given apart, so that moving the points does not move it."""
    if case["objective"] == "rule":
        x, logdet = tf.forward(flow, parameters, points)
        return (case["lambda"] * tf.RULES[case["rule"]](x, case["rule_size"]) - logdet).mean()
    v, logdet = kind(flow).forward(flow, parameters, points)
    z, y_prime = x_and_y(flow, v)
    log_prior = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(1)
    y = x_and_y(flow, target)[1].detach()
    if case["objective"] == "gaussian":
        return (-log_prior - torch.distributions.Normal(y, case["others"]["sigma"]).log_prob(y_prime).sum(1) - logdet).mean()
    return (-log_prior + case["lambda"] * tf.DISTANCES[case["distance"]](y_prime - y) - logdet).mean()


def check_stored_loss(case):
    """What make_golden stores is the loss that the checks above differentiate."""
    flow, parameters, points = tf_inputs(case)
    loss = total_loss(case, flow, parameters, points, points).item()
    return abs(evaluate(case)[0]["loss"] - loss) / max(1.0, abs(loss)), 1e-13


# ---- images: what the two directions have in common, and so cannot show ----------------------------------

def check_squeeze_places(case):
    """The factor of an image of positions p = (i w + j) c + ch has them where the formula says, and back."""
    h, w, c = 4, 6, 3
    image = torch.arange(h * w * c).reshape(1, h, w, c)
    leaving, active = tif.factor(image)
    wrong = (tif.unfactor(leaving, active) != image).sum().item()
    for i, j, ch in np.ndindex(h, w, c):
        offset = 2 * (i % 2) + j % 2
        channel = offset * c + ch
        half = leaving if channel < 2 * c else active
        wrong += half[0, i // 2, j // 2, channel % (2 * c)].item() != (i * w + j) * c + ch
    return wrong, 0.0


def expected_split(flow, layer, h, w, c):
    """Positions in (h, w, c) of the elements of u1 and u2, in the order of their places there."""
    def p(i, j, ch):
        return (i * w + j) * c + ch

    cx = flow.channels_x if flow.condition == "fixed" else c  # takes part in the split
    parts = ([], [])
    if layer < 2:
        for row, column in np.ndindex(h // 2, w // 2):
            i, j = 2 * row, 2 * column
            even, odd = [(i, j), (i + 1, j + 1)], [(i, j + 1), (i + 1, j)]
            kept, moved = (even, odd) if layer == 0 else (odd, even)
            parts[0].extend(p(*pixel, ch) for pixel in kept for ch in range(cx))
            parts[0].extend(p(i + o // 2, j + o % 2, ch) for o in range(4) for ch in range(cx, c))
            parts[1].extend(p(*pixel, ch) for pixel in moved for ch in range(cx))
    else:
        kept = [ch for ch in range(cx) if ch % 2 == layer - 2 and cx > 1]
        for i, j in np.ndindex(h, w):
            parts[0].extend(p(i, j, ch) for ch in [*kept, *range(cx, c)])
            parts[1].extend(p(i, j, ch) for ch in range(cx) if ch not in kept)
    return parts


def check_split_places(case):
    flow = case["flow"]
    h, w, c = tif.active_shape(flow, 0)
    image, wrong = torch.arange(h * w * c).reshape(1, h, w, c), 0
    for layer in range(4):
        u1, u2 = tif.split(flow, layer, image)
        wrong += [u1.flatten().tolist(), u2.flatten().tolist()] != list(expected_split(flow, layer, h, w, c))
        wrong += (tif.replace(flow, layer, image, u2) != image).sum().item()
        moved = (tif.replace(flow, layer, image, u2 - h * w * c) < 0).flatten().nonzero().flatten()
        wrong += moved.tolist() != sorted(expected_split(flow, layer, h, w, c)[1])
    return wrong, 0.0


def check_factored_rest(case):
    """After a squeeze only the lower row of each 2x2 cell is transformed, and everything ends up where it was."""
    flow, parameters, points = tf_inputs(case)
    first_squeezed = 4 * (flow.squeeze.index(1) + 1)
    with torch.no_grad():
        for layer in range(first_squeezed):
            for name in (f"layer.{layer:03d}.s", f"layer.{layer:03d}.B.out.w", f"layer.{layer:03d}.B.out.b"):
                parameters[name].zero_()  # a = b = 0: the layer does nothing
        change = tif.as_images(flow, tif.forward(flow, parameters, points)[0] - points).abs()
    return change[:, 0::2].max().item() + (change[:, 1::2].min().item() == 0.0), 0.0


def loop_conv(t, weights, bias, groups, dilation):
    """t (h, w, inputs); weights flat, (k, k, inputs a group, outputs) with the outputs fastest."""
    h, w, inputs = t.shape
    outputs, inputs_a_group = len(bias), inputs // groups
    k = round((len(weights) / (inputs_a_group * outputs)) ** 0.5)
    result = np.tile(bias, (h, w, 1))
    for i, j, a, b, o in np.ndindex(h, w, k, k, outputs):
        row, column = i + (a - k // 2) * dilation, j + (b - k // 2) * dilation
        if 0 <= row < h and 0 <= column < w:
            first = o // (outputs // groups) * inputs_a_group
            for ch in range(inputs_a_group):
                weight = weights[((a * k + b) * inputs_a_group + ch) * outputs + o]
                result[i, j, o] += weight * t[row, column, first + ch]
    return result


def loop_norm(t, scale, bias):
    """Leaky ReLU and layer norm of t (h, w, c); scale and bias flat, an element or a channel each."""
    t = np.where(t > 0.0, t, 0.3 * t).ravel()
    t_normalised = (t - t.mean()) / np.sqrt(((t - t.mean()) ** 2).mean() + 1e-3)
    return t_normalised * np.resize(scale, t.size) + np.resize(bias, t.size)


def check_network(case):
    """A checkerboard and a channelwise network of one sample against plain loops over flat parameters."""
    flow, parameters, points = tf_inputs(case)
    worst = 0.0
    for layer, k, branches in ((0, 4, (1,)), (3, 8, (1, 2))):
        u1, _ = tif.split(flow, layer, tif.as_images(flow, points.detach())[:1])
        found = tif.resnext(flow, parameters, layer, "B", u1).detach().numpy()[0]
        flat = {name.split(".B.")[1]: p.detach().numpy().ravel() for name, p in parameters.items()
                if name.startswith(f"layer.{layer:03d}.B.")}

        def conv(name, t, groups=1, dilation=1):
            return loop_conv(t, flat[f"{name}.w"], flat[f"{name}.b"], groups, dilation)

        def norm(name, t):
            return loop_norm(t, flat[f"{name}.g"], flat[f"{name}.b"]).reshape(t.shape)

        h = conv("in", u1.numpy()[0])
        for r in range(flow.residual_blocks):
            t = norm(f"r{r}.n1", conv(f"r{r}.c0", norm(f"r{r}.n0", h)))
            t = np.concatenate([conv(f"r{r}.d{d}", t, 4 // d, d) for d in branches], axis=2)
            assert t.shape[2] == sum(k // d for d in branches)
            h = h + conv(f"r{r}.c1", norm(f"r{r}.n2", t))
        worst = max(worst, np.abs(conv("out", norm("n", h)) - found).max())
    return worst, 1e-13


def check_paper_sizes(case):
    """Known parameter counts of the paper's models, 28x28 with a squeeze and 14x14, in millions."""
    worst = 0.0
    known = ((1, "element", 13.3), (1, "channel", 1.0), (0, "element", 6.3), (0, "channel", 1.2))
    for squeeze, norm, millions in known:
        side, k, cardinality = (28, (64, 64, 32, 32), (8, 8, 4, 4)) if squeeze else (14, (64,) * 4, (8,) * 4)
        flow = tif.ImageFlow(side, side, 1, 1, "joint", k, cardinality, (0, squeeze, 0, 0), 3, norm)
        total = sum(np.prod(shape) for _, shape in tif.parameter_layout(flow))
        worst = max(worst, abs(total / 1e6 - millions))
    return worst, 0.05


def image_checks():
    """(case, check) pairs; the stored cases without the Jacobian, whose cost grows with D^2."""
    for case in TINY_IMAGES + IMAGE_CASES:
        yield from ((case, check) for check in (check_round_trip, check_gradient, check_stored_loss))
        if case in TINY_IMAGES:
            yield from ((case, check) for check in (check_logdet, check_split_places))
        if case["condition"] == "fixed":
            yield case, check_fixed_condition
        if any(case["flow"].squeeze) and case["flow"].transforms == ("coupling",):  # which can be made to do nothing
            yield case, check_factored_rest
    for check in (check_squeeze_places, check_split_places, check_network, check_paper_sizes):
        yield NETWORK, check


def main() -> int:
    torch.set_num_threads(1)
    checks = [("splitmix64", check_splitmix, None)]
    for case in SMALL:
        per_case = [check_round_trip, check_logdet, check_gradient, check_stored_loss]
        if case["condition"] == "fixed":
            per_case.append(check_fixed_condition)
        checks += [(case["name"], check, case) for check in per_case]
    checks += [(case["name"], check, case) for case, check in image_checks()]
    failed = 0
    for name, check, case in checks:
        error, tolerance = check() if case is None else check(case)
        good = error <= tolerance  # false for NaN, too
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name:24s} {check.__name__:22s} {error:.2e} (at most {tolerance:.0e})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
