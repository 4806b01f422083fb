"""Runs that are killed or stopped, at any moment and at every call that changes a file, and then continued: they end with
the model and the history of an unbroken run, and leave no temporary files behind."""
import random
import signal
import time

from trial import counts, in_folder, leftovers, spread

KILLS = 100
SHORT = 6
MODELS = {  # a checkpoint after every epoch, and enough epochs to be hit in between
    "toy": ("toy", ["--set", "train.epochs=12", "--set", "train.checkpoint=0"]),
    "image": ("image", ["--set", "train.epochs=4", "--set", "train.checkpoint=0"]),
}


def history(path):
    """Its lines without the last column, the seconds."""
    return [line.rsplit(",", 1)[0] for line in path.read_text(encoding="utf-8").splitlines()]


class Unbroken:
    """How a run ends that nobody disturbs."""

    def __init__(self, program, name):
        recipe, self.options = MODELS[name]
        self.program, self.name = program, name
        self.words = ["train", getattr(program, recipe), "-o", "run", "--no-report", "--threads", "1", *self.options]
        self.folder = program.fresh_folder(f"{name}-unbroken")
        start = time.monotonic()
        result = program.run(self.words, self.folder, f"report={self.folder}/counts")
        self.seconds = time.monotonic() - start
        if result.status != 0:
            raise RuntimeError(f"{name}: the unbroken run failed: {result}")
        self.calls = counts(self.folder / "counts")[1]
        self.model = (self.folder / "run/model.safetensors").read_bytes()
        self.history = history(self.folder / "run/history.csv")

    def go_on(self, folder):
        """Continues as a user would: --resume, and where nothing was kept yet, from the beginning."""
        kept = ("checkpoint.safetensors", "checkpoint-previous.safetensors")
        found = any((folder / "run" / name).exists() for name in kept)
        return self.program.run([*self.words, "--resume" if found else "--force"], folder)

    def compare(self, folder):
        result = self.go_on(folder)
        if result.status != 0:
            return f"could not be continued: {result}"
        if (folder / "run/model.safetensors").read_bytes() != self.model:
            return "another model"
        if history(folder / "run/history.csv") != self.history:
            return "another history"
        left = leftovers(folder)
        return f"left behind: {', '.join(left)}" if left else None


def kill_at_call(unbroken, folder, call):
    result = unbroken.program.run(unbroken.words, folder, f"kill={call}")
    if result.status != -signal.SIGKILL:
        return f"was not killed at call {call}: {result}"
    return unbroken.compare(folder)


def disturb_after(unbroken, folder, number, seconds):
    process = unbroken.program.start(unbroken.words, folder)
    time.sleep(seconds)
    process.send_signal(number)
    result = unbroken.program.end(process)
    expected = (-number,) if number == signal.SIGKILL else (130, -number)  # before main is there, a signal ends it
    if result.status not in (0, *expected):
        return f"ended by {number} with {result}"
    if result.status == 0 and number != signal.SIGKILL and "stopped" in result.out:
        return f"stopped with success: {result}"
    return unbroken.compare(folder)


def run_kills(program, score, options):
    for name in MODELS:
        unbroken = Unbroken(program, name)
        by_call = spread(unbroken.calls, SHORT if options.short else KILLS // 2)
        moments = random.Random(options.seed)
        by_time = [(i, moments.uniform(0, unbroken.seconds))
                   for i in range(SHORT if options.short else KILLS - len(by_call))]
        score.trials(f"kills__{name}_model_is_that_of_an_unbroken_run_after_a_kill_at_a_call", options.jobs,
                     lambda call: in_folder(program, f"{name}-call-{call}",
                                            lambda folder: kill_at_call(unbroken, folder, call)),
                     by_call, lambda: f" (of {unbroken.calls} calls)")
        score.trials(f"kills__{name}_model_is_that_of_an_unbroken_run_after_a_kill_at_a_random_moment", options.jobs,
                     lambda case: in_folder(program, f"{name}-time-{case[0]}",
                                            lambda folder: disturb_after(unbroken, folder, signal.SIGKILL, case[1])),
                     by_time)


def run_signals(program, score, options):
    for name in MODELS:
        unbroken = Unbroken(program, name)
        moments = random.Random(options.seed + 1)
        for number in (signal.SIGINT, signal.SIGTERM):
            cases = [(i, moments.uniform(0, unbroken.seconds)) for i in range(3 if options.short else 25)]
            score.trials(f"signals__{name}_model_is_that_of_an_unbroken_run_after_{number.name}", options.jobs,
                         lambda case: in_folder(program, f"{name}-{number.name}-{case[0]}",
                                                lambda folder: disturb_after(unbroken, folder, number, case[1])),
                         cases)
