// Runs a graph by onnxruntime-web: node run.mjs MODULES GRAPH
// Standard input has the feeds as JSON, {name: {data, dims}}; standard output the names of the inputs and, where there are feeds,
// the outputs in the same form. Numbers are written as text, which holds those that are not finite.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, graph] = process.argv.slice(2);
const ort = await import(pathToFileURL(path.resolve(modules, 'onnxruntime-web/dist/ort.wasm.min.mjs')));
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

const session = await ort.InferenceSession.create(fs.readFileSync(graph));
const feeds = Object.entries(JSON.parse(fs.readFileSync(0, 'utf8')))
    .map(([name, { data, dims }]) => [name, new ort.Tensor('float32', Float32Array.from(data), dims)]);
const found = feeds.length ? await session.run(Object.fromEntries(feeds)) : {};
const outputs = Object.entries(found).map(([name, { data, dims }]) => [name, { data: Array.from(data, String), dims }]);
console.log(JSON.stringify({ inputs: session.inputNames, outputs: Object.fromEntries(outputs) }));
