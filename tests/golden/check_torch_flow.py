"""Checks torch_flow.py against itself: inverses, log-determinants and gradients. Exits non-zero on a failure.

    python3 tests/golden/check_torch_flow.py
"""
import sys

import torch

import torch_flow as tf
from make_golden import CASES, evaluate

SMALL = [case for case in CASES if case["store_gradient"]]


def check_splitmix():
    """The published first outputs of splitmix64 from seed 1234567."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    found = tf.splitmix_uniform(1234567, 4)
    return max(abs(f - (p >> 11) * 2.0**-53) for f, p in zip(found, published)), 0.0


def check_round_trip(case):
    flow, parameters, points = tf_inputs(case)
    with torch.no_grad():
        v, logdet_forward = tf.forward(flow, parameters, points)
        back, logdet_inverse = tf.inverse(flow, parameters, v)
    error = max((back - points).abs().max().item(), (logdet_forward - logdet_inverse).abs().max().item())
    return error, 1e-12


def check_logdet(case):
    """log|det| of the whole Jacobian, both directions, point by point."""
    flow, parameters, points = tf_inputs(case)
    parameters = {name: p.detach() for name, p in parameters.items()}
    worst = 0.0
    for direction, sign in ((tf.forward, 1.0), (tf.inverse, -1.0)):
        for point in points:
            def at(u):
                return direction(flow, parameters, u[None])[0][0]
            jacobian = torch.autograd.functional.jacobian(at, point)
            logdet = direction(flow, parameters, point[None])[1].item()
            worst = max(worst, abs(sign * torch.linalg.slogdet(jacobian)[1].item() - logdet))
    return worst, 1e-12


def check_fixed_condition(case):
    flow, parameters, points = tf_inputs(case)
    v, _ = tf.forward(flow, parameters, points)
    return (v - points)[:, flow.dim_x:].abs().max().item(), 0.0


def check_gradient(case):
    """Central differences along random directions in parameters and points; y stays the target of the undisturbed
    points, as in data_terms."""
    flow, parameters, points = tf_inputs(case)
    loss = total_loss(case, flow, parameters, points, points)
    leaves = list(parameters.values()) + [points]
    gradients = torch.autograd.grad(loss, leaves)
    worst = 0.0
    for trial in range(6):
        generator = torch.Generator().manual_seed(trial)
        step = [torch.randn(leaf.shape, generator=generator, dtype=torch.float64) for leaf in leaves]
        exact = sum((g * d).sum().item() for g, d in zip(gradients, step))
        eps = 1e-7  # small, since a kink between the two points would spoil the difference
        ends = []
        for sign in (1.0, -1.0):
            moved = [leaf.detach() + sign * eps * d for leaf, d in zip(leaves, step)]
            ends.append(total_loss(case, flow, dict(zip(parameters, moved)), moved[-1], points).item())
        worst = max(worst, abs((ends[0] - ends[1]) / (2 * eps) - exact) / max(1.0, abs(exact)))
    return worst, 1e-6


def tf_inputs(case):
    flow = case["flow"]
    points = tf.formula_points(case["n"], flow.dim, case["seed_points"]).requires_grad_(True)
    return flow, tf.formula_parameters(flow, case["seed_parameters"]), points


def total_loss(case, flow, parameters, points, target):
    """The loss with the condition's target given apart, so that moving the points does not move it."""
    if case["objective"] == "rule":
        x, logdet = tf.inverse(flow, parameters, points)
        return (case["lambda"] * tf.RULES[case["rule"]](x, case["rule_size"]) + logdet).mean()
    v, logdet = tf.forward(flow, parameters, points)
    z, y_prime = v[:, :flow.dim_x], v[:, flow.dim_x:]
    log_prior = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(1)
    distance = tf.DISTANCES[case["distance"]](y_prime - target[:, flow.dim_x:].detach())
    return (-log_prior + case["lambda"] * distance - logdet).mean()


def check_stored_loss(case):
    """What make_golden stores is the loss that the checks above differentiate."""
    flow, parameters, points = tf_inputs(case)
    loss = total_loss(case, flow, parameters, points, points).item()
    return abs(evaluate(case)[0]["loss"] - loss) / max(1.0, abs(loss)), 1e-13


def main() -> int:
    torch.set_num_threads(1)
    checks = [("splitmix64", check_splitmix, None)]
    for case in SMALL:
        per_case = [check_round_trip, check_logdet, check_gradient, check_stored_loss]
        if case["condition"] == "fixed":
            per_case.append(check_fixed_condition)
        checks += [(case["name"], check, case) for check in per_case]
    failed = 0
    for name, check, case in checks:
        error, tolerance = check() if case is None else check(case)
        good = error <= tolerance  # false for NaN, too
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name:24s} {check.__name__:22s} {error:.2e} (at most {tolerance:.0e})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
