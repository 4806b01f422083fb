"""Every allocation fails once, in a run of its own: of the program, and of cairo, libpng, zlib, curl and the C library.

Either the run succeeds with the results of an undisturbed one, or it fails with one sentence that says that memory ran
out, and what it has written is either whole or not there. Nothing that the program allocated is left at its end.

Cairo 1.16 does not report all of its own failures: some it draws around, after others it crashes. Those are counted, and
told as what they are; only for pictures, and only where cairo or its pixman asked for the memory."""
import shutil

from trial import counts, in_folder, leftovers, one_sentence, spread

SHORT = 8
# Words of a command; what it writes is in its own folder, what it reads is MODELS/toy, MODELS/image and MODELS/rows.csv.
# Pictures, graphs and curl's TLS come with thousands of allocations of a few hundred kinds: there each way to one counts once.
COMMANDS = {
    "load": (["info", "{models}/toy"], False),
    "load_image": (["info", "{models}/image"], False),
    "train": (["train", "{toy}", "-o", "run", "--no-report", "--quiet"], False),
    "train_image": (["train", "{image}", "-o", "run", "--no-report", "--quiet"], False),
    "train_table": (["train", "{models}/table.ini", "-o", "run", "--no-report", "--quiet"], False),
    "sample": (["sample", "{models}/toy", "-y", "0,1", "-n", "5", "-o", "x.csv"], False),
    "sample_npy": (["sample", "{models}/toy", "-y", "0,1", "-n", "5", "-o", "x.npy"], False),
    "sample_image": (["sample", "{models}/image", "-y", "ring", "-n", "2", "-o", "x.npy"], False),
    "sample_picture": (["sample", "{models}/toy", "-y", "0,1", "-n", "5", "-o", "x.png"], True),
    "encode": (["encode", "{models}/toy", "{models}/rows.csv", "-o", "z.csv"], False),
    "density": (["density", "{models}/toy", "{models}/rows.csv", "-o", "p.csv"], False),
    "export_c": (["export", "{models}/toy", "-o", "model.c"], False),
    "export_onnx": (["export", "{models}/toy", "-o", "model.onnx"], True),
    "judge": (["judge", "{models}/toy", "--points", "50"], False),
    "judge_image": (["judge", "{models}/image", "--points", "5"], False),
    "report": (["report", "run", "--points", "50"], True),
    "report_image": (["report", "image", "--points", "5"], True),
    "fetch": (["data", "fetch", "mnist", "--folder", "data", "--mirror", "file://{models}", "--quiet"], True),
}
NO_THREADS = ("data",)
FAILS_ANYWAY = ("fetch",)  # the mirror has not the right files: curl is asked all the same
TABLE = """[data]\nset = table\nfile = {}\nx = 2\ny = 1\n
[model]\nblocks = 1\ndepth = 1\nwidth = 4\n
[train]\nbatch = 10\nprecondition = 0\nanneal = 0\nepochs = 2\n"""


def make_models(program):
    models = program.folder("models")
    for name, recipe in (("toy", program.toy), ("image", program.image)):
        result = program.run(["train", recipe, "-o", name, "--no-report", "--quiet", "--threads", "1"], models)
        if result.status != 0:
            raise RuntimeError(f"{name}: {result}")
    program.run(["sample", "toy", "-y", "0,1", "-n", "20", "-o", "rows.csv"], models)
    (models / "table.ini").write_text(TABLE.format(models / "rows.csv"), encoding="utf-8")
    (models / "train-images-idx3-ubyte.gz").write_bytes(b"wrong")
    return models


def contents(folder):
    """What a run wrote, without the times in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent != folder or path.suffix in (".csv", ".npy", ".png", ".c", ".onnx"):
            content = path.read_bytes()
            if path.name == "history.csv":
                content = b"\n".join(line.rsplit(b",", 1)[0] for line in content.splitlines())
            found[str(path.relative_to(folder))] = content
    return found


def asked_by_cairo(folder):
    who = folder / "counts.who"
    return who.exists() and any(name in who.read_text(encoding="utf-8") for name in ("libcairo", "libpixman"))


class Command:
    def __init__(self, program, models, name):
        words, self.by_way = COMMANDS[name]
        self.program, self.models, self.name = program, models, name
        places = {"models": models, "toy": program.toy, "image": program.image}
        self.words = [word.format(**places) for word in words]
        if self.words[0] not in NO_THREADS:
            self.words += ["--threads", "1"]
        self.unreported = 0
        self.status = 1 if name in FAILS_ANYWAY else 0
        in_folder(program, f"{name}-warm", lambda folder: self.run(folder, ""))  # fills the cache of fonts
        self.expected, self.unstable = None, set()
        for attempt in range(2):
            in_folder(program, f"{name}-{attempt}", self.run_undisturbed)

    def run(self, folder, faults):
        if self.words[0] == "report":
            shutil.copytree(self.models / ("image" if self.words[1] == "image" else "toy"), folder / self.words[1])
        return self.program.run(self.words, folder, faults)

    def run_undisturbed(self, folder):
        result = self.run(folder, f"report={folder}/counts stacks={folder}/stacks")
        self.allocations, _, own, _ = counts(folder / "counts")
        if result.status != self.status or own:
            raise RuntimeError(f"{self.name}: undisturbed, it leaves {own} blocks and ends with {result}")
        self.stacks = (folder / "stacks").read_text(encoding="ascii").split()
        found = contents(folder)
        if self.expected is None:
            self.expected, self.out = found, result.out
        else:  # what differs from run to run by itself, as a report with its date does, is not compared
            self.unstable = {name for name in found if found[name] != self.expected.get(name)}
            self.compares_out = result.out == self.out

    def numbers(self, options):
        if options.short or options.most:
            return spread(self.allocations, options.most or SHORT)
        if not self.by_way or options.every:
            return list(range(1, self.allocations + 1))
        first = {}
        for number, stack in enumerate(self.stacks, 1):
            first.setdefault(stack, number)
        return sorted(first.values())

    def judge(self, folder, number):
        result = self.run(folder, f"allocation={number} report={folder}/counts")
        wrong = self.problem(folder, result)
        if wrong and self.by_way and asked_by_cairo(folder):
            self.unreported += 1
            return None
        return wrong

    def problem(self, folder, result):
        if result.status == self.status:
            wrong = self.compare_all(folder, result) if self.status == 0 else one_sentence(result)
        else:
            wrong = one_sentence(result) or self.told_memory(result) or self.compare_some(folder)
        if wrong:
            return wrong
        own = counts(folder / "counts")[2]
        return f"{own} blocks were not freed: {result}" if own else None

    def told_memory(self, result):
        return None if "memory" in result.error.lower() else f"the sentence does not name memory: {result}"

    def compare_all(self, folder, result):
        found = contents(folder)
        different = [name for name in self.expected
                     if name not in self.unstable and found.get(name) != self.expected[name]]
        if different:
            return f"succeeded with another {', '.join(different)}"
        if self.compares_out and result.out != self.out:
            return "succeeded with another output"
        return None

    def compare_some(self, folder):
        """A failed run may lack files. Training may have come to any of its checkpoints."""
        if leftovers(folder):
            return f"left behind: {leftovers(folder)}"
        if self.words[0] == "train":
            return None
        found = contents(folder)
        different = [name for name in found if name in self.expected and name not in self.unstable
                     and found[name] != self.expected[name]]
        return f"failed and left another {', '.join(different)}" if different else None


def run(program, score, options):
    models = make_models(program)
    for name in options.of.split(",") if options.of else COMMANDS:
        command = Command(program, models, name)
        score.trials(f"allocations__{name}_succeeds_alike_or_tells_that_memory_ran_out", options.jobs,
                     lambda number: in_folder(program, f"{name}-{number}", lambda folder: command.judge(folder, number)),
                     command.numbers(options),
                     lambda: f" (of {command.allocations} allocations" +
                     (f"; {command.unreported} that cairo does not report)" if command.unreported else ")"))
