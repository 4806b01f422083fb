"""Disks that are full, at any call or from any size on, and folders that vanish: one sentence, nothing half-written, and
once there is room again the run is continued to the same end."""
import shutil
import time

from kills import Unbroken
from trial import counts, in_folder, leftovers, one_sentence, spread

SHORT = 6


def fail_at_call(unbroken, folder, call):
    """A call may fail without harm, such as the flush of a folder: then everything is as it should be."""
    result = unbroken.program.run(unbroken.words, folder, f"call={call} report={folder}/counts")
    if result.status != 0:
        wrong = one_sentence(result)
        if not wrong and "No space left on device" not in result.error:
            wrong = f"the sentence does not name the cause: {result}"
        if wrong:
            return wrong
    if counts(folder / "counts")[2]:
        return f"blocks were not freed: {result}"
    return unbroken.compare(folder)


def fail_from_size(unbroken, folder, size):
    result = unbroken.program.run(unbroken.words, folder, file_limit=size)
    if result.status == 0:
        return None if (folder / "run/model.safetensors").read_bytes() == unbroken.model else "another model"
    wrong = one_sentence(result)
    if wrong:
        return wrong
    left = leftovers(folder)
    return f"left behind: {', '.join(left)}" if left else unbroken.compare(folder)


def vanish(unbroken, folder, seconds):
    """The folder of a run is removed under its hands."""
    words = [word if word != "train.epochs=12" else "train.epochs=100000" for word in unbroken.words]
    process = unbroken.program.start(words, folder)
    deadline = time.monotonic() + 60
    while not (folder / "run/checkpoint.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(seconds)
    (folder / "run").rename(folder / "elsewhere")
    result = unbroken.program.end(process)
    if result.status == 0:
        return "succeeded without its folder"
    return one_sentence(result)


def run(program, score, options):
    unbroken = Unbroken(program, "toy")
    score.trials("disk__a_call_that_finds_it_full_is_told_and_the_run_can_be_continued", options.jobs,
                 lambda call: in_folder(program, f"full-{call}", lambda folder: fail_at_call(unbroken, folder, call)),
                 spread(unbroken.calls, SHORT if options.short else unbroken.calls), lambda: f" (of {unbroken.calls} calls)")
    largest = max(path.stat().st_size for path in (unbroken.folder / "run").iterdir())
    sizes = [round(i * largest / 40) for i in range(0, 41, 8 if options.short else 1)]
    score.trials("disk__files_that_may_not_grow_are_told_and_the_run_can_be_continued", options.jobs,
                 lambda size: in_folder(program, f"size-{size}", lambda folder: fail_from_size(unbroken, folder, size)),
                 sizes)
    score.trials("disk__a_folder_that_vanishes_is_told", options.jobs,
                 lambda case: in_folder(program, f"vanish-{case}",
                                        lambda folder: vanish(unbroken, folder, 0.03 * case)),
                 list(range(2 if options.short else 10)))
    shutil.rmtree(unbroken.folder, ignore_errors=True)
