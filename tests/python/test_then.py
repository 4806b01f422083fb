"""Models whose images others make larger: 7x7 of a class, then 14x14, then 28x28, of glyphs that the program draws."""
import pathlib
import pickle

import numpy as np
import pytest

import jointflow

RECIPE = pathlib.Path(__file__).resolve().parents[1] / "cli" / "glyphs.ini"
OF_VECTORS = {"model.net": "dense", "model.condition": "fixed", "model.depth": 1, "model.width": 4}


def train(path, recipe=RECIPE, **settings):
    keys = {key.replace("__", "."): value for key, value in settings.items()}
    with pytest.warns(jointflow.Warning):  # so short a training learns nothing, and says so
        flow = jointflow.Flow(recipe, settings=keys, progress=False, seed=1).fit()
    flow.save(path)
    return flow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("scales")
    (made / "pair").mkdir()
    train(made / "pair" / "7-14.safetensors", data__task="superres", data__down=1, data__classes="all")
    train(made / "pair" / "14-28.safetensors", data__task="superres", data__classes="all")
    images_only = ("kernels", "cardinality", "residual", "norm")
    small = made / "small.ini"
    small.write_text("\n".join(line for line in RECIPE.read_text().splitlines() if not line.startswith(images_only)))
    train(made / "small.safetensors", small, data__down=2, data__one_hot="yes", data__then=made / "pair",
          **{key.replace(".", "__"): value for key, value in OF_VECTORS.items()})
    return made


@pytest.fixture(scope="module")
def flow(folder):
    return jointflow.load(folder / "small.safetensors")


def test_then__samples_are_the_large_images(flow):
    names = flow.class_names_
    large = flow.sample(names, 3, seed=4)
    assert large.shape == (len(names), 3, 28, 28) and np.isfinite(large).all()
    assert flow.sample(names[0], seed=4).shape == (28, 28) and flow.sample(names[0], 0).shape == (0, 28, 28)
    assert np.array_equal(flow.sample(names, 3, seed=4), large)
    assert not np.array_equal(flow.sample(names, 3), flow.sample(names, 3))  # without a seed every call gives others


def test_then__samples_are_those_of_the_command_line(flow, folder, program, tmp_path):
    import subprocess
    subprocess.run([program, "sample", str(folder / "small.safetensors"), "-n", "2", "--seed", "9", "-o", "a.npy"],
                   cwd=tmp_path, check=True, capture_output=True)
    found = flow.sample(flow.class_names_, 2, seed=9)
    assert np.allclose(np.load(tmp_path / "a.npy").reshape(found.shape), found, atol=1e-6)


def test_then__false_gives_the_models_own_x(flow):
    name = flow.class_names_[0]
    x = flow.sample(name, 3, seed=4, then=False)
    assert x.shape == (3, 49)
    assert np.array_equal(flow.images(x, name, then=False).reshape(3, 49), x)
    assert np.array_equal(flow.images(x, name, seed=4), flow.sample(name, 3, seed=4))
    assert flow.log_prob(x, name).shape == (3,) and flow.encode(x, name).shape == (3, 49)


def test_then__a_density_is_that_of_the_small_image(flow):
    name = flow.class_names_[0]
    large = flow.sample(name, 2, seed=4)
    with pytest.raises(jointflow.errors.ShapeError, match=r"expected \(49,\).*sample\(\.\.\., then=False\)"):
        flow.log_prob(large, name)
    x = flow.from_images(large, name)  # halved as the data were
    assert np.allclose(x, large.reshape(2, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(2, 49), atol=1e-9)
    assert np.isfinite(flow.log_prob(x, name)).all()


def test_then__other_models_are_names_paths_chains_or_flows(flow, folder):
    name, pair = flow.class_names_[0], folder / "pair"
    coarse = jointflow.load(pair / "7-14.safetensors")
    assert flow.sample(name, 2, then=coarse).shape == (2, 14, 14)
    by_default = flow.sample(name, 2, seed=1)
    for then in (True, pair, str(pair), jointflow.load(pair), f"{pair}/14-28.safetensors,{pair}/7-14.safetensors"):
        assert np.array_equal(flow.sample(name, 2, seed=1, then=then), by_default)
    with pytest.raises(jointflow.errors.ShapeError, match="larger, expected one that starts from 7 x 7"):
        flow.sample(name, 2, then=pair / "14-28.safetensors")
    with pytest.raises(jointflow.errors.ArgumentError, match="expected a name, a path, a Chain"):
        flow.sample(name, 2, then=3)
    with pytest.raises(jointflow.errors.ArgumentError, match="names no models"):
        coarse.sample(coarse.conditions(np.zeros((7, 7))), then=True)


def test_then__is_for_images(crescents):
    assert crescents.sample(0, 2, then=False).shape == (2, 2)
    with pytest.raises(jointflow.errors.ArgumentError, match="for models of images"):
        crescents.sample(0, 2, then="fashion")


def test_then__rows_of_a_line_share_latent_points(flow):
    name = flow.class_names_[0]
    x = np.repeat(flow.sample(name, 1, seed=1, then=False), 4, axis=0)
    first, second = flow.images(x, name, seed=2, together=2).reshape(2, 2, 28, 28)
    assert np.array_equal(first[0], first[1]) and np.array_equal(second[0], second[1])
    assert not np.array_equal(first[0], second[0])


def test_then__judgements_and_pictures_are_of_the_large_images(flow):
    judgement = flow.judge(points=40)
    assert judgement["image"]["enlarged_height"] == 28 and judgement["nll_of"].startswith("images of 7 x 7")
    assert "samples" in judgement.pictures
    own = flow.judge(points=40, then=False)
    assert "enlarged_height" not in own["image"] and own["nll"] == judgement["nll"]
    pytest.importorskip("matplotlib", reason="it draws")
    shown = [ax.images[0].get_array().shape for ax in flow.plot(n=3).axes]
    assert shown == [(28, 28)] * (3 * len(flow.class_names_))


def test_then__flows_are_pickled_without_the_other_models(flow):
    name = flow.class_names_[0]
    again = pickle.loads(pickle.dumps(flow))
    assert np.array_equal(again.sample(name, 2, seed=1), flow.sample(name, 2, seed=1))


def test_then__a_model_file_has_models_loaded_from_its_own_folder_alone(folder, tmp_path):
    alone = tmp_path / "alone.safetensors"
    alone.write_bytes((folder / "small.safetensors").read_bytes())
    flow = jointflow.load(alone)
    for stranger in (flow, pickle.loads(pickle.dumps(flow))):
        with pytest.raises(jointflow.errors.Error, match="models from elsewhere are given by --then"):
            stranger.sample(flow.class_names_[0], 1)
        assert stranger.sample(flow.class_names_[0], 1, then=folder / "pair").shape == (1, 28, 28)


def test_then__models_that_are_gone_are_named(folder, tmp_path):
    (tmp_path / "gone").mkdir()
    gone = train(tmp_path / "gone.safetensors", folder / "small.ini", data__down=2, data__then=tmp_path / "gone",
                 **{key.replace(".", "__"): value for key, value in OF_VECTORS.items()})
    with pytest.raises(jointflow.errors.Error, match="data.then = .*gone, which makes the images of the model larger"):
        gone.sample(gone.class_names_[0], 1)
    assert gone.sample(gone.class_names_[0], 1, then=False).shape == (1, 49)
