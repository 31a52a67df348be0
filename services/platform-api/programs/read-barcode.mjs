// Reads the PDF417 barcode of a picture (JPEG, PNG) from the standard input, for domains/documents/barcode.ts. Answers its text, or nothing.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
// The package would fetch it from elsewhere.
const wasmBinary = await readFile(createRequire(import.meta.url).resolve('zxing-wasm/reader/zxing_reader.wasm'));
prepareZXingModule({ overrides: { wasmBinary } });
const options = { formats: ['PDF417'], tryHarder: true, maxNumberOfSymbols: 1, textMode: 'Plain' };
const [found] = await readBarcodes(new Uint8Array(Buffer.concat(chunks)), options);
if (found?.isValid === true) process.stdout.write(found.text);
