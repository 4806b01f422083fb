"""Models of images, and chains of them."""
import numpy as np
import pytest

import jointflow


@pytest.fixture(scope="module")
def chain():
    return jointflow.load("fashion")


@pytest.fixture(scope="module")
def boot():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib reads the picture")
    root = jointflow.__path__[0] + "/../../"
    return pyplot.imread(root + "models/examples/fashion-mnist/boot.png")


def test_chain__answers_of_each_step_have_an_axis_of_their_own(chain, boot):
    made = chain.sample(boot, (2, 3), seed=1)
    assert made.input.shape == (7, 7) and made.truth.shape == (28, 28)
    assert [step.shape for step in made.steps] == [(2, 14, 14), (2, 3, 28, 28)]
    assert made.images is made.steps[-1] and len(made.psnr) == 2 and min(made.psnr) > 20 and made.y_error < 0.1
    again = made.images.reshape(2, 3, 7, 4, 7, 4).mean(axis=(3, 5))
    assert np.abs(again - made.input).mean() < 0.05
    assert np.array_equal(chain.sample(boot, (2, 3), seed=1).images, made.images)
    assert len(made.plot().axes) >= 8


def test_chain__a_small_image_has_no_truth(chain, boot):
    small = boot.reshape(7, 4, 7, 4).mean(axis=(1, 3)) if boot.ndim == 2 else boot[..., 0].reshape(7, 4, 7, 4).mean(axis=(1, 3))
    made = chain.sample((small * 255).astype(np.uint8), 2)
    assert made.truth is None and made.images.shape == (2, 2, 28, 28)
    with pytest.raises(ValueError, match="expected 2 numbers"):
        chain.sample(small, (1, 2, 3))


def test_images__of_a_class_come_from_samples_and_go_back(boot):
    flow = jointflow.load("fashion-class")
    x = flow.sample(["shirt", "sneaker"], 3, seed=1)
    images = flow.images(x, ["shirt", "sneaker"])
    assert images.shape == (2, 3, 28, 28)
    back = flow.from_images(images[0], "shirt")
    assert np.allclose(back, x[0], atol=1e-9)
    assert flow.log_prob(x[0], "shirt").shape == (3,) and flow.y_error_ < 0.1


def test_images__are_conditions_of_a_model_of_images():
    flow = jointflow.load("fashion/7-14")
    small = np.full((2, 7, 7), 0.5)
    y = flow.conditions(small)
    assert y.shape == (2, flow.dim_y_) and flow.images(flow.sample(y, 4), y).shape == (2, 4, 14, 14)


def test_images__memory_of_the_library_lives_as_long_as_the_array(chain, boot):
    kept = [chain.sample(boot, 1, seed=i).images for i in range(20)]
    assert np.array_equal(kept[3], chain.sample(boot, 1, seed=3).images)
