# Comparing two samples.
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-/usr/bin/python3}

# table NAME ROWS SHIFT SEED: two columns, normal, the first one shifted; by a plain generator, so that nothing is needed.
table() {
    awk -v n="$2" -v shift_by="$3" -v seed="$4" 'BEGIN { srand(seed); print "a,b"; for (i = 0; i < n; i++) {
        r = sqrt(-2 * log(1 - rand())); t = 6.283185307 * rand();
        printf "%.6f,%.6f\n", r * cos(t) + shift_by, r * sin(t) * cos(t / 2) } }' > "$1"
}
field() { sed -n "s/.*\"$1\": {\"value\": \([0-9.e-]*\).*/\1/p" "$work/stdout"; }

case_begin compare__tells_shifted_samples_apart_and_others_not
table a.csv 1000 0 1
table b.csv 1000 0 2
table c.csv 1500 1 3
run jointflow compare a.csv b.csv
expect_status 0
expect_line '  C2ST +0\.[45][0-9]+ .*'
run jointflow compare a.csv c.csv
expect_status 0
expect_line '  1000 rows of each; 3 of 3 measures are above what two samples of the same distribution show.'

case_begin compare__reads_csv_and_npy_alike
table a.csv 300 0 1
table b.csv 300 1 2
if [ -x "$PYTHON" ] && "$PYTHON" -c 'import numpy' 2> "$work/stderr"; then
    "$PYTHON" -c 'import numpy as n; n.save("b.npy", n.loadtxt("b.csv", delimiter=",", skiprows=1))'
    jointflow compare a.csv b.csv > one
    jointflow compare a.csv b.npy > other
    expect_same one other
else skip "numpy is not there to write an array (Debian: python3-numpy)"; fi

case_begin compare__says_what_does_not_fit
table a.csv 300 0 1
echo 1,2,3 > b.csv
run jointflow compare a.csv b.csv
expect_status 1
expect_error_line 'jointflow: 2 columns in the first table and 3 in the second, expected equally many, or the number .*'
run jointflow compare a.csv b.csv --columns 2
expect_status 1
expect_error_line 'jointflow: 1 rows to compare of each table, expected 20 to 1000000'

case_begin compare__c2st_is_that_of_scikit_learn
table a.csv 3000 0 1
table b.csv 3000 0.8 2
if [ -x "$PYTHON" ] && "$PYTHON" -c 'import sklearn' 2> "$work/stderr"; then
    run jointflow compare a.csv b.csv --json
    expect_status 0
    ours=$(field c2st)
    theirs=$("$PYTHON" - << 'END'
import numpy as n, warnings
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier
warnings.filterwarnings("ignore")
a, b = (n.loadtxt(p, delimiter=",", skiprows=1) for p in ("a.csv", "b.csv"))
x = (n.concatenate([a, b]) - a.mean(0)) / a.std(0, ddof=1)
y = n.repeat([0, 1], [len(a), len(b)])
found = []
for seed in (1, 2):
    net = MLPClassifier(activation="relu", hidden_layer_sizes=(20, 20), max_iter=1000, solver="adam", random_state=seed)
    found.append(cross_val_score(net, x, y, cv=KFold(5, shuffle=True, random_state=seed)).mean())
print(n.mean(found))
END
    )
    expect awk "BEGIN { exit !($ours - $theirs < 0.01 && $theirs - $ours < 0.01) }"
else skip "scikit-learn is not there to compare with (Debian: python3-sklearn)"; fi
