"""Writes the golden values: one JSON file a case, and beside it the whole gradient as .npy where it is small.

    python3 tests/golden/make_golden.py            write the files into this folder
    python3 tests/golden/make_golden.py --check    compare with the stored files instead (relative 1e-10)

Float64, one thread, no random state: every number follows from the seeds of the case. README.md describes the format.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import torch

import torch_flow as tf
import torch_image_flow as tif

HERE = pathlib.Path(__file__).resolve().parent

# The six masks of (x0, x1, y) that keep something and move something, in four fixed orders: one per block.
BLOCKS = (
    ((0, 1, 0), (1, 0, 1), (1, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 1)),
    ((1, 1, 0), (0, 1, 1), (0, 0, 1), (1, 0, 0), (0, 1, 0), (1, 0, 1)),
    ((0, 0, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0)),
    ((1, 0, 1), (1, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 1, 0)),
)
TWO_BLOCKS = BLOCKS[0] + BLOCKS[1]
# The condition (the last element) is never moved.
FIXED = ((1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0))
# The same of two elements of x and three numbers that an embedding makes of y.
FIXED_3 = tuple(m[:2] + (0, 0, 0) for m in FIXED)
ALTERNATING = ((1, 0), (0, 1)) * 4
# Random halves of 4 + 3 elements, each followed by its complement.
HALVES = (
    (1, 0, 0, 1, 0, 1, 0), (0, 1, 1, 0, 1, 0, 1),
    (0, 0, 1, 1, 1, 0, 1), (1, 1, 0, 0, 0, 1, 0),
    (1, 1, 0, 0, 1, 0, 0), (0, 0, 1, 1, 0, 1, 1),
)
# Permutations of 4 elements of x that leave 3 of y in their places, one for each of the masks above.
MIXED = tuple(p + (4, 5, 6) for p in
              ((1, 2, 0, 3), (3, 0, 1, 2), (0, 1, 2, 3), (2, 3, 0, 1), (3, 2, 1, 0), (1, 0, 3, 2)))
# The same of 2 + 1 channels in four steps, and of 4 + 2 in the four after a squeeze: (x0, x1, y) twice, the first pixel's
# and the second's.
MIXED_CHANNELS = ((1, 0, 2), (0, 1, 2), (1, 0, 2), (1, 0, 2),
                  (4, 3, 2, 0, 1, 5), (1, 0, 2, 4, 3, 5), (3, 4, 2, 1, 0, 5), (0, 1, 2, 3, 4, 5))


def case(name, objective, flow, seed, n=8, condition="none", weight=0.0, distance="l1", rule="none", size=0.0,
         store_gradient=True, **others):
    """seed: parameters, points and signs take 3 consecutive seeds from it. others: the [loss] keys of an objective that
    has others than lambda, distance, rule and size."""
    return {
        "name": name, "objective": objective, "condition": condition, "flow": flow, "n": n, "lambda": weight,
        "distance": distance, "rule": rule, "rule_size": size, "seed_parameters": seed, "seed_points": seed + 1,
        "seed_signs": seed + 2, "store_gradient": store_gradient, "others": others,
    }


CASES = [
    case("joint_affine_l1", "joint", tf.Flow(2, 1, "affine", 3, 16, TWO_BLOCKS), 1001,
         condition="joint", weight=100.0, distance="l1"),
    case("joint_shear_l2", "joint", tf.Flow(2, 1, "shear", 3, 12, TWO_BLOCKS), 2001,
         condition="joint", weight=100.0, distance="l2"),
    case("fixed_affine", "joint", tf.Flow(2, 1, "affine", 3, 12, FIXED), 3001,
         condition="fixed", weight=100.0, distance="l1"),
    case("plain_affine", "plain", tf.Flow(2, 0, "affine", 2, 12, ALTERNATING), 4001),
    case("rule_circle", "rule", tf.Flow(2, 0, "affine", 2, 12, ALTERNATING), 5001,
         weight=20.0, rule="circle", size=1.0),
    case("rule_parabola", "rule", tf.Flow(2, 0, "affine", 2, 12, ALTERNATING), 6001,
         weight=20.0, rule="parabola"),
    case("joint_d7_affine", "joint", tf.Flow(4, 3, "affine", 2, 10, HALVES), 7001,
         condition="joint", weight=100.0, distance="l1"),
    # Only 3 or more moved elements show the row order of the shear's entries.
    case("joint_d7_shear", "joint", tf.Flow(4, 3, "shear", 2, 10, HALVES), 7501,
         condition="joint", weight=100.0, distance="l1"),
    case("joint_d7_additive", "joint", tf.Flow(4, 3, "additive", 2, 10, HALVES), 7601,
         condition="joint", weight=100.0, distance="l1"),
    case("joint_actnorm", "joint", tf.Flow(2, 1, "affine", 2, 10, BLOCKS[0], ("actnorm", "coupling")), 9501,
         condition="joint", weight=100.0, distance="l1"),
    # 4 elements of x and 3 of y, which stay in their places: every row and column of the triangles is another one.
    case("joint_mixing", "joint", tf.Flow(4, 3, "affine", 2, 10, HALVES, ("mixing", "coupling"), MIXED), 9701,
         condition="joint", weight=100.0, distance="l1"),
    case("gaussian_d7_affine", "gaussian", tf.Flow(4, 3, "affine", 2, 10, HALVES), 9001, condition="joint", sigma=0.25),
    # Points reach from -2 to 2: some lie beyond the spline's bound, where they stay as they are.
    case("fixed_spline", "joint", tf.Flow(2, 1, "spline", 2, 10, FIXED, bins=5, bound=1.7), 9801,
         condition="fixed", weight=100.0, distance="l1"),
    case("joint_spline", "joint", tf.Flow(4, 3, "spline", 2, 10, HALVES, bins=8, bound=3.0), 9851,
         condition="joint", weight=100.0, distance="l1"),
    case("rule_spline", "rule", tf.Flow(2, 0, "spline", 2, 12, ALTERNATING, bins=6, bound=2.5), 9871,
         weight=20.0, rule="circle", size=1.0),
    # Seeds of residual networks keep all units away from the kink of the activation, where rounding decides about the slope.
    case("joint_residual", "joint", tf.Flow(4, 3, "affine", 0, 10, HALVES, residual=2), 9955,
         condition="joint", weight=100.0, distance="l1"),
    case("fixed_spline_residual", "joint", tf.Flow(2, 1, "spline", 0, 12, FIXED, bins=8, bound=3.0, residual=1), 10029,
         condition="fixed", weight=100.0, distance="l1"),
    # Seeds of embeddings keep all units away from the kink, too.
    case("fixed_embed_dense", "joint",
         tf.Flow(2, 9, "affine", 2, 10, FIXED_3, embed=tf.Embedding("dense", 3, 7, 2)), 9991,
         condition="fixed", weight=100.0, distance="l1"),
    case("fixed_embed_conv1d", "joint",
         tf.Flow(2, 34, "spline", 2, 10, FIXED_3, bins=5, bound=1.7,
                 embed=tf.Embedding("conv1d", 3, 6, 2, steps=17, channels=4)), 9995,
         condition="fixed", weight=100.0, distance="l1"),
    case("joint_paper", "joint", tf.Flow(2, 1, "affine", 12, 64, sum(BLOCKS, ())), 8001, n=16,
         condition="joint", weight=100.0, distance="l1", store_gradient=False),
]


def image_case(name, flow, seed, n=2, weight=10.0, store_gradient=False):
    return case(name, "joint", flow, seed, n=n, condition=flow.condition, weight=weight, store_gradient=store_gradient)


# height, width, channels of x and y; K and cardinality of each block; squeeze after it; residual blocks; norm
IMAGE_CASES = [
    image_case("image_14", tif.ImageFlow(14, 14, 1, 1, "joint", (16, 16), (4, 4), (0, 0), 2, "element"), 11001),
    image_case("image_28", tif.ImageFlow(28, 28, 1, 1, "joint", (16, 8), (4, 2), (1, 0), 1, "element"), 12001),
    image_case("image_16_colour",
               tif.ImageFlow(16, 16, 3, 2, "joint", (8, 8, 8), (2, 2, 2), (1, 1, 0), 1, "channel"), 13001),
    image_case("image_8_fixed", tif.ImageFlow(8, 8, 1, 1, "fixed", (8,), (2,), (0,), 1, "channel"), 14001,
               store_gradient=True),
    image_case("image_8_chain",
               tif.ImageFlow(8, 8, 2, 1, "joint", (4, 4), (2, 1), (1, 0), 1, "channel",
                             ("actnorm", "mixing", "coupling"), MIXED_CHANNELS), 15001, store_gradient=True),
]


def chain_record(flow):
    """The transforms of a step and the tables of the chain; nothing where it is couplings alone."""
    if flow.transforms == ("coupling",):
        return {}
    mixings = [i for i in range(flow.layers) if flow.transforms[i % len(flow.transforms)] == "mixing"]
    tables = {"table_names": [f"layer.{i:03d}.mixing.p" for i in mixings],
              "tables": [list(p) for p in flow.permutations]}
    return {"transforms": " ".join(flow.transforms), **(tables if mixings else {})}


def shape_record(flow):
    """What splines and residual networks have beside the rest."""
    return {**({"bins": flow.bins, "bound": flow.bound} if flow.law == "spline" else {}),
            **({"dense_residual": flow.residual} if flow.residual else {}),
            **({"embed_size": flow.embed.size, "embed_keys": flow.embed.keys(flow.dim_y)} if flow.embed else {})}


def evaluate(golden_case):
    """The record for the JSON file and the flat gradient (parameters,)."""
    is_image = isinstance(golden_case["flow"], tif.ImageFlow)
    return (evaluate_image if is_image else evaluate_vector)(golden_case)


def evaluate_vector(golden_case):
    flow, n = golden_case["flow"], golden_case["n"]
    parameters = tf.formula_parameters(flow, golden_case["seed_parameters"])
    points = tf.formula_points(n, flow.dim, golden_case["seed_points"]).requires_grad_(True)
    if golden_case["objective"] == "rule":
        state, logdet, terms = tf.rule_terms(flow, parameters, points, golden_case["lambda"], golden_case["rule"],
                                             golden_case["rule_size"])
    elif golden_case["others"]:
        state, logdet, terms = tf.OBJECTIVES[golden_case["objective"]](flow, parameters, points,
                                                                       **golden_case["others"])
    else:
        state, logdet, terms = tf.data_terms(flow, parameters, points, golden_case["lambda"],
                                             golden_case["distance"])
    loss = sum(terms.values())
    loss.backward()

    values, gradients, flat = flat_parameters(parameters)
    record = {key: golden_case[key] for key in (
        "name", "objective", "condition", "distance", "lambda", "rule", "rule_size", "n",
        "seed_parameters", "seed_points", "seed_signs")}
    if golden_case["others"]:
        record["loss_keys"] = "\n".join(f"{key} = {value!r}" for key, value in golden_case["others"].items())
    record.update(
        dim_x=flow.dim_x, dim_y=flow.dim_y, law=flow.law, **shape_record(flow), depth=flow.depth, width=flow.width,
        leaky_slope=tf.LEAKY_SLOPE, layers=len(flow.masks), masks=[list(m) for m in flow.masks], **chain_record(flow),
        parameters=int(flat.size), parameters_first=values[:8].tolist(), parameters_sum=float(values.sum()),
        points=rows(points), state=rows(state), logdet=logdet.tolist())
    record.update({f"term_{name}": value.item() for name, value in terms.items()})
    record.update(
        loss=loss.item(), points_gradient=rows(points.grad),
        **gradient_summary(golden_case, parameters, gradients, flat))
    return record, flat


def evaluate_image(golden_case):
    """Points, state and their gradient are large here: summaries of them."""
    flow, n = golden_case["flow"], golden_case["n"]
    parameters = tif.formula_parameters(flow, golden_case["seed_parameters"])
    points = tif.formula_points(n, flow.dim, golden_case["seed_points"]).requires_grad_(True)
    state, logdets, terms = tif.data_terms(flow, parameters, points, golden_case["lambda"], golden_case["distance"])
    loss = sum(terms.values())
    loss.backward()
    values, gradients, flat = flat_parameters(parameters)

    record = {key: golden_case[key] for key in (
        "name", "objective", "condition", "distance", "lambda", "n", "seed_parameters", "seed_points", "seed_signs")}
    record.update(
        network="resnext", law="affine", image_height=flow.height, image_width=flow.width,
        channels_x=flow.channels_x, channels_y=flow.channels_y, dim_x=flow.dim_x, dim_y=flow.dim_y,
        blocks=flow.blocks, layers=flow.layers, squeeze=list(flow.squeeze), net_channels=list(flow.net_channels),
        cardinality=list(flow.cardinality), residual_blocks=flow.residual_blocks, norm=flow.norm,
        norm_epsilon=tif.NORM_EPSILON, leaky_slope=tif.LEAKY_SLOPE, **chain_record(flow),
        parameters=int(flat.size), parameters_first=values[:8].tolist(), parameters_sum=float(values.sum()),
        points_first=points.detach().reshape(-1)[:8].tolist(), points_sum=float(points.detach().sum()),
        logdet=logdets.sum(0).tolist(), layer_logdet=rows(logdets), **summary(golden_case, "state", state))
    record.update({f"term_{name}": value.item() for name, value in terms.items()})
    record.update(
        loss=loss.item(), **summary(golden_case, "points_gradient", points.grad),
        **gradient_summary(golden_case, parameters, gradients, flat))
    return record, flat


def flat_parameters(parameters):
    """All values, each tensor's gradient, and the whole gradient, flattened."""
    gradients = [p.grad.numpy().ravel() for p in parameters.values()]
    values = np.concatenate([p.detach().numpy().ravel() for p in parameters.values()])
    return values, gradients, np.concatenate(gradients)


def sign_vector(golden_case, count):
    return np.where(tf.splitmix_symmetric(golden_case["seed_signs"], count) < 0.0, -1.0, 1.0)


def gradient_summary(golden_case, parameters, gradients, flat):
    """What every record says about the gradient with respect to the parameters."""
    signs = sign_vector(golden_case, flat.size)
    ends = np.cumsum([g.size for g in gradients])
    return {
        "gradient_file": f"{golden_case['name']}.gradient.npy" if golden_case["store_gradient"] else "",
        "gradient_norm": float(np.linalg.norm(flat)),
        "tensor_names": list(parameters),
        "tensor_sizes": [g.size for g in gradients],
        "tensor_gradient_norms": [float(np.linalg.norm(g)) for g in gradients],
        "tensor_gradient_signs": [float(g @ signs[end - g.size:end]) for g, end in zip(gradients, ends)],
    }


def summary(golden_case, name, matrix, first=64):
    """Per sample of (n, D): L2 norm, dot product with its stretch of the sign vector, first elements."""
    matrix = matrix.detach().numpy()
    signs = sign_vector(golden_case, matrix.size).reshape(matrix.shape)
    return {
        f"{name}_norms": np.linalg.norm(matrix, axis=1).tolist(),
        f"{name}_signs": (matrix * signs).sum(1).tolist(),
        f"{name}_first": matrix[:, :first].ravel().tolist(),
    }


class rows(list):
    """A matrix stored as one flat row-major array; remembers its row length so that the file shows its rows."""

    def __init__(self, matrix: torch.Tensor):
        super().__init__(matrix.detach().reshape(-1).tolist())
        self.length = matrix.shape[1]


def format_json(record) -> str:
    """One key per line, long arrays broken into short lines (a matrix into its rows); numbers round-trip."""
    lines = []
    for key, value in record.items():
        text = json.dumps(value, allow_nan=False)
        if isinstance(value, list) and len(text) > 90:
            step = getattr(value, "length", 8 if isinstance(value[0], (int, list)) else 4)
            pieces = [", ".join(json.dumps(v, allow_nan=False) for v in value[i:i + step])
                      for i in range(0, len(value), step)]
            text = "[\n    " + ",\n    ".join(pieces) + "\n  ]"
        lines.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(folder: pathlib.Path, record, gradient: np.ndarray) -> None:
    (folder / f"{record['name']}.json").write_text(format_json(record))
    if record["gradient_file"]:
        np.save(folder / record["gradient_file"], gradient.astype("<f8"))


def differences(folder: pathlib.Path, record, gradient: np.ndarray):
    """Names of what differs from the stored files: numbers by more than 1e-10 of the largest in their array."""
    stored = json.loads((folder / f"{record['name']}.json").read_text())

    def same(a, b):
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        return a.shape == b.shape and np.abs(a - b).max() <= 1e-10 * max(1.0, np.abs(b).max())

    for key in sorted(record.keys() | stored.keys()):
        found, expected = record.get(key), stored.get(key)
        numeric = isinstance(expected, float) or (isinstance(expected, list) and not isinstance(expected[0], (str, list)))
        if not (same(found, expected) if numeric and found is not None else found == expected):
            yield key
    if record["gradient_file"] and not same(gradient, np.load(folder / record["gradient_file"])):
        yield record["gradient_file"]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="compare with the stored files, write nothing")
    arguments.add_argument("--folder", type=pathlib.Path, default=HERE, help="where the files are (%(default)s)")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    failed = 0
    for golden_case in CASES + IMAGE_CASES:
        record, gradient = evaluate(golden_case)
        if options.check:
            different = list(differences(options.folder, record, gradient))
            failed += bool(different)
            print(f"{record['name']}: {'differs in ' + ', '.join(different) if different else 'same'}")
        else:
            write(options.folder, record, gradient)
            print(f"{record['name']}: {record['parameters']} parameters, loss {record['loss']!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
