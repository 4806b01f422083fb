# Model files that strangers wrote: which files of the reader's they can have opened, and what they can have shown.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/glyphs.ini"
train() {
    jointflow train "$1" -o "$2" --no-report --quiet "${@:3}" 2> "$work/train.log" || { cat "$work/train.log" >&2; exit 1; }
}
grep -v 'kernels\|cardinality\|residual\|norm' "$TINY" > "$work/small.ini"
train "$work/small.ini" "$work/small" --set model.net=dense --set model.condition=fixed --set model.depth=1 \
    --set model.width=4 --set data.down=1 --set data.one_hot=yes --set data.then=THEN
train "$TINY" "$work/large" --set data.task=superres --set data.classes=all
awk 'BEGIN { print "a,b,c,d"; for (i = 0; i < 200; i++) print sin(i) "," cos(3 * i) "," sin(5 * i) "," i % 7 }' > "$work/table.csv"
train "$ROOT/tests/cli/tiny.ini" "$work/table" --set data.set=table --set data.file="$work/table.csv" --set data.x=3 \
    --set data.y=1 # of two columns a judgement would integrate the density
SMALL="$work/small/model.safetensors" LARGE="$work/large/model.safetensors" TABLE="$work/table/model.safetensors"

# forge FROM TO NOTE OLD NEW: a model file with another text in a note of its metadata, and the checksum of that.
forge() {
    python3 - "$@" << 'END'
import json, struct, sys
source, target, note, old, new = sys.argv[1:]
data = open(source, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
notes = header["__metadata__"]
assert old in notes[note], notes[note]
notes[note] = notes[note].replace(old, new)
total = 0xcbf29ce484222325
def add(some):
    global total
    for byte in some:
        total = (total ^ byte) * 0x100000001b3 & 0xffffffffffffffff
for key in "jointflow.format recipe recipe_name seed trained class_names chain columns".split():
    add(notes[key].encode() + b"\0")
for name, tensor in sorted(header.items(), key=lambda item: item[1].get("data_offsets", [-1])):
    if name != "__metadata__":
        first, last = (8 + size + offset for offset in tensor["data_offsets"])
        add(f"{name}\0{tensor['dtype']}\0".encode() + struct.pack(f"<{len(tensor['shape'])}Q", *tensor["shape"]) + data[first:last])
notes["checksum"] = f"{total:016x}"
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(target, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
END
}
# refused COMMAND...: one sentence, soon, within 4 GB, without a word of what is in the files.
LIMIT='ulimit -v 4000000; exec "$@"'
[ -z "$SANITIZE" ] || LIMIT='exec "$@"' # sanitizers take more address space than that
refused() {
    run timeout 30 bash -c "$LIMIT" - "$@"
    expect_status 1
    expect_error_line_count 1
    expect_error_line 'jointflow: .*'
    ! grep -qE 'hunter2|letmein' "$work/stdout" "$work/stderr" || case_fail "what is in a file is quoted"
}
# What a model may name, but must not have opened.
set_traps() {
    mkdir trap
    printf 'hunter2:letmein\n' > trap/secret
    { head -c 8 /dev/zero; cat trap/secret; } > trap/zeros.safetensors
    printf '\030\0\0\0\0\0\0\0{"letmein": hunter2     }' > trap/broken.safetensors
    mkfifo trap/pipe trap/pipe.safetensors
    ln -s /dev/zero trap/zero
}

case_begin then__of_a_model_file_opens_no_file_outside_of_its_folder
set_traps
mkdir own
ln -s ../trap own/out
ln -s "$LARGE" own/link.safetensors
for name in "$PWD/trap/secret" "$PWD/trap/zeros.safetensors" "$PWD/trap/broken.safetensors" "$PWD/trap/pipe" \
    "$PWD/trap" /dev/zero "$PWD/trap/zero" ../trap/secret trap/broken.safetensors out/broken.safetensors \
    out/pipe link.safetensors "$LARGE" ../../large; do
    forge "$SMALL" own/m.safetensors recipe 'then = THEN' "then = $name"
    refused jointflow sample own/m.safetensors -n 1 -o a.npy
    expect_error_line "jointflow: data.then = $name, which makes .*: found no model .* are given by --then $name"
done
expect_no_file a.npy

case_begin then__of_a_model_file_takes_what_is_below_its_folder_or_came_with_the_program
mkdir -p own/inner
cp "$LARGE" own/inner/large.safetensors
for name in inner inner/large.safetensors "$PWD/own/inner" own/inner; do
    forge "$SMALL" own/m.safetensors recipe 'then = THEN' "then = $name"
    run jointflow sample own/m.safetensors -y ring -n 1 -o a.npy
    expect_status 0
    expect grep -aq "'shape': (1, 28, 28)" a.npy
done
mkdir shipped
cp "$LARGE" shipped/glyphs-large.safetensors
forge "$SMALL" own/m.safetensors recipe 'then = THEN' 'then = glyphs-large'
JOINTFLOW_MODELS="$PWD/shipped" run jointflow sample own/m.safetensors -y ring -n 1 -o b.npy
expect_status 0
expect_same a.npy b.npy
cd own && printf 'hunter2' > inner/other.safetensors && forge m.safetensors m.safetensors recipe glyphs-large inner
refused jointflow sample m.safetensors -n 1 -o c.npy

case_begin then__the_words_to_paste_name_the_same_models
folder="it's a \"pair\" of \$HOME"
mkdir "$folder" own
cp "$LARGE" "$folder/large.safetensors"
forge "$SMALL" own/m.safetensors recipe 'then = THEN' "then = $folder"
refused jointflow sample own/m.safetensors -n 1 -o a.npy
paste=$(sed -n 's/.*are given by //p' "$work/stderr")
run sh -c "jointflow sample own/m.safetensors -y ring -n 1 $paste -o a.npy"
expect_status 0
expect grep -aq "'shape': (1, 28, 28)" a.npy

case_begin data__that_a_model_file_names_are_not_quoted_and_no_pipe_is_opened
set_traps
cp trap/secret trap/secret.csv
printf 'a,b,c,d\n1,2,letmein,3\n4,5,6,7\n' > trap/rows.csv
printf 'hunter2,letmein\n1,2\n' > trap/names.csv
printf 'hunter2' > trap/array.npy
truncate -s 3G trap/sparse.csv trap/sparse.npy
mkfifo trap/pipe.csv trap/pipe.npy
ln -s /dev/zero trap/zero.csv
ln -s /dev/zero trap/zero.npy
mkdir trap/folder.csv
for name in secret.csv rows.csv names.csv array.npy sparse.csv sparse.npy pipe.csv pipe.npy zero.csv zero.npy folder.csv \
    secret pipe zero; do
    forge "$TABLE" m.safetensors recipe "file = $work/table.csv" "file = $PWD/trap/$name"
    refused jointflow judge m.safetensors --points 20
    refused jointflow report m.safetensors -o out
done
# what the user names is told in detail
run jointflow judge "$TABLE" --test trap/rows.csv
expect_error_line 'jointflow: .*rows.csv:2: column 3 .*letmein.*'

case_begin images__that_a_model_file_names_are_not_quoted_and_no_pipe_is_opened
set_traps
mkdir trap/idx trap/classes trap/empty
mkfifo trap/idx/train-images-idx3-ubyte trap/idx/train-labels-idx1-ubyte
mkdir trap/classes/hunter2 && printf 'letmein' > trap/classes/hunter2/a.png
printf 'hunter2' > trap/array.npy
truncate -s 3G trap/sparse.npy
mkfifo trap/pipe.npy
for name in secret pipe pipe.npy zero array.npy sparse.npy idx empty; do
    forge "$LARGE" m.safetensors recipe 'images = glyphs' "images = $PWD/trap/$name"
    refused jointflow judge m.safetensors --points 20
    refused jointflow sample m.safetensors --row 0 -o a.png
    refused jointflow superres m.safetensors --row 0 -o a.png
done
forge "$LARGE" m.safetensors recipe 'images = glyphs' "images = $PWD/trap/classes"
refused jointflow judge m.safetensors --points 20

case_begin strings__of_a_model_file_bring_no_control_characters_to_the_terminal
for text in $'\e[2J' $'a\rb' $'\x7f' $'\xc2\x9b31m' $'\xe2\x80\xae' $'\xe2\x81\xa7' $'a\nb'; do
    for note in trained class_names; do
        expected="byte [0-9]+ of \"$note\" in its metadata has code [0-9]+, expected .*"
        [ "$note$text" != $'class_namesa\nb' ] || expected='"class_names" of its metadata names [0-9]+, expected 2' # one a line
        forge "$SMALL" m.safetensors "$note" '' "$text"
        refused jointflow info m.safetensors
        expect_error_line "jointflow: m.safetensors: $expected"
    done
done
for text in $'\e[2J' $'\r' $'\xc2\x9b31m' $'\xe2\x80\xae'; do
    forge "$TABLE" m.safetensors columns a "a$text"
    refused jointflow sample m.safetensors -y 0 -n 1
    refused jointflow judge m.safetensors --points 20
    forge "$TABLE" m.safetensors recipe table.csv "table$text.csv"
    refused jointflow judge m.safetensors --points 20
    ! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f\x80-\xff]' "$work/stderr" || case_fail "control characters are shown"
done

case_begin strings__of_the_command_line_are_shown_without_control_characters
for text in $'\e[2J' $'\x7f' $'\xc2\x9b31m' $'\xe2\x80\xae' $'\xe2\x81\xa9'; do
    for words in "a$text" "info a$text" "sample $TABLE -y a$text" "sample $TABLE -y 0 -o a$text" "judge $TABLE --a$text 1"; do
        run jointflow $words
        expect_error_line_count 1
        expect_error_line 'jointflow: .*a[?]+.*'
        ! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f\x80-\xff]' "$work/stderr" || case_fail "$words: control characters are shown"
    done
done

case_begin commands__of_reports_and_cards_can_be_pasted_whatever_the_names
strange="it's a \"run\" of \$HOME; é"
mkdir "$strange"
cp "$TABLE" "$strange/model.safetensors"
run jointflow report "$strange" --points 20
expect_status 0
# paste FILE: its commands, with a y and data in the place of what only the reader has
paste() {
    python3 - "$1" "$work/table.csv" << 'END'
import html, re, sys
page = html.unescape(open(sys.argv[1]).read())
for line in re.findall(r"^(?:<pre>|    )?(jointflow (?:sample|density|judge) .*?)(?:</pre>)?$", page, re.M):
    line = line.replace("VALUE", "1").replace("DATA.csv", sys.argv[2])
    print(line.replace(" --json", " --points 20 --json"))
END
}
paste "$strange/report.html" > commands
expect test "$(wc -l < commands)" = 3
run jointflow pack "$strange" -o "$strange.safetensors" --points 20
expect_status 0
paste "$strange.md" | sed 's/ judge .*/& --points 20/' > card
expect test "$(wc -l < card)" = 2
# the card's names are those of models that came with the program
JOINTFLOW_MODELS="$PWD" run sh -ec "$(cat card)"
expect_status 0
run sh -ec "$(cat commands)"
expect_status 0
expect_file samples.csv

case_begin strings__of_a_model_file_and_its_history_are_no_markup_of_a_card
forge "$TABLE" forged.safetensors trained finished '<img src=x onerror=y>|`*a*`[b](c)'
forge forged.safetensors forged.safetensors recipe_name tiny 'a`<img src=x>|'
mkdir run && mv forged.safetensors run/model.safetensors
sed $'2,$s/^[a-z]*/<img>\e[2J/' "$work/table/history.csv" > run/history.csv
run jointflow pack run --points 20 -o card.safetensors
expect_status 0
expect grep -qxF -e "| recipe | \`a'<img src=x>\\|.ini\`, seed 0 |" card.md
expect grep -qF -e '| training | \<img src=x onerror=y\>\|\`\*a\*\`\[b\](c) after' card.md
expect test -z "$(grep -o '[^`]<img>' card.md)"
! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f]' card.md || case_fail "control characters are in the card"
