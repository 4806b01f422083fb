// Runs the graphs of exported models and compares them with what the library answered.
//     node compare.mjs MODULES FOLDER ...
// A FOLDER holds model.onnx and model.density.onnx, the rows z.csv (or none), x.csv and y.csv, and what is expected of them:
// x.csv and y_back.csv of decoding; z_out.csv, y_out.csv, log_p.csv and y_error.csv of encoding, as far as they are there.
// Numbers agree to 1e-4, relative to those beyond 1.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const TOLERANCE = 1e-4;
const [modules, ...folders] = process.argv.slice(2);
const ort = await import(pathToFileURL(path.resolve(modules, 'onnxruntime-web/dist/ort.wasm.min.mjs')));
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

// The numbers of a table without names, (rows, width); null: there is none.
function read(folder, name) {
    const file = path.join(folder, name + '.csv');
    if (!fs.existsSync(file)) return null;
    const rows = fs.readFileSync(file, 'utf8').split('\n').filter(line => line !== '').map(line => line.split(',').map(Number));
    if (rows.length === 0 || rows.some(row => row.length !== rows[0].length || row.some(Number.isNaN)))
        throw new Error(`${file}: not a table of numbers`);
    return { rows: rows.length, width: rows[0].length, data: rows.flat() };
}

const feed = (table, rows) =>
    new ort.Tensor('float32', Float32Array.from(table.data.slice(0, rows * table.width)), [rows, table.width]);

function compare(what, found, expected, rows) {
    const count = rows * expected.width;
    if (found.data.length !== count || found.dims[0] !== rows)
        throw new Error(`${what}: the shape is (${found.dims}), expected ${rows} rows of ${expected.width}`);
    for (let i = 0; i < count; i++) {
        const off = Math.abs(found.data[i] - expected.data[i]) / Math.max(1, Math.abs(expected.data[i]));
        if (!(off <= TOLERANCE))
            throw new Error(`${what}: number ${i} is ${found.data[i]}, expected ${expected.data[i]}`);
    }
}

// One graph: `inputs` by their names, and for each output the file that it is compared with. All rows, then the first alone:
// a graph takes any number of them.
async function check(folder, file, inputs, outputs) {
    const session = await ort.InferenceSession.create(fs.readFileSync(path.join(folder, file)));
    const tables = Object.fromEntries(inputs.map(name => [name, read(folder, name)]).filter(([, table]) => table));
    const wanted = Object.entries(outputs).map(([name, from]) => [name, read(folder, from)]).filter(([, table]) => table);
    if (session.inputNames.join() !== Object.keys(tables).join())
        throw new Error(`${file} takes ${session.inputNames}, expected ${Object.keys(tables)}`);
    if (wanted.length === 0) throw new Error(`${folder}: nothing to compare ${file} with`);
    for (const rows of [tables[inputs[0]].rows, 1]) {
        const feeds = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, feed(table, rows)]));
        const found = await session.run(feeds);
        for (const [name, expected] of wanted) compare(`${path.join(folder, file)}, ${name}`, found[name], expected, rows);
    }
    await session.release();
}

for (const folder of folders) {
    await check(folder, 'model.onnx', ['z', 'y'], { x: 'x', y_back: 'y_back' });
    await check(folder, 'model.density.onnx', ['x', 'y'], { z: 'z_out', y_out: 'y_out', log_p: 'log_p', y_error: 'y_error' });
}
