// Reads a PDF from the standard input, for domains/documents/pdf.ts: a process of its own, since a small file may ask for any amount of memory and time.
// `text <max pages> <max pixels>` answers JSON: `pages`, and `text` of the text layer where there are no more; `picture <page> <max pixels>` the largest picture of that page
// as PNG, or nothing: a page at a time, since who reads the answer holds it in memory.
import { crc32, deflateSync } from 'node:zlib';
import { extractText, getDocumentProxy, getResolvedPDFJS } from 'unpdf';

// Messages of the library are no part of the answer.
console.log = console.warn = console.error;

// A page that was scanned is one picture; logos and stamps beside it are smaller.
async function largestOn(page) {
  const { OPS } = await getResolvedPDFJS();
  const { fnArray, argsArray } = await page.getOperatorList();
  const names = fnArray.flatMap((operator, at) => (operator === OPS.paintImageXObject ? [argsArray[at][0]] : []));
  const inline = fnArray.flatMap((operator, at) =>
    operator === OPS.paintInlineImageXObject ? [argsArray[at][0]] : [],
  );
  const found = await Promise.all([...new Set(names)].map((name) => objectOf(page, name)));
  return [...found, ...inline]
    .filter((picture) => picture?.data !== undefined && picture?.data !== null)
    .reduce((best, each) => (best === null || each.width * each.height > best.width * best.height ? each : best), null);
}

/** Pictures that several pages have may be kept beside the pages. */
const objectOf = (page, name) =>
  new Promise((resolve) => (name.startsWith('g_') ? page.commonObjs : page.objs).get(name, resolve));

/** Kinds of pdf.js (1: a bit a pixel, 2: RGB, 3: RGBA) as bits of a pixel, and depth and colour type of PNG. */
const kinds = { 1: [1, 1, 0], 2: [24, 8, 2], 3: [32, 8, 6] };

function pngOf({ width, height, kind, data }) {
  const [bits, depth, colour] = kinds[kind];
  const rowBytes = Math.ceil((width * bits) / 8);
  const rows = Buffer.alloc(height * (rowBytes + 1));
  for (let row = 0; row < height; row += 1)
    rows.set(data.subarray(row * rowBytes, (row + 1) * rowBytes), row * (rowBytes + 1) + 1);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([depth, colour], 8);
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([signature, part('IHDR', head), part('IDAT', deflateSync(rows, { level: 1 })), part('IEND')]);
}

function part(name, content = Buffer.alloc(0)) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const part = Buffer.alloc(body.length + 8);
  part.writeUInt32BE(content.length, 0);
  part.set(body, 4);
  part.writeUInt32BE(crc32(body), body.length + 4);
  return part;
}

const [what, first, maxPixels] = process.argv.slice(2);
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const document = await getDocumentProxy(new Uint8Array(Buffer.concat(chunks)), {
  verbosity: 0,
  // Larger ones are not unpacked.
  maxImageSize: Number(maxPixels),
  isOffscreenCanvasSupported: false,
});
if (what === 'picture') {
  const picture = await largestOn(await document.getPage(Number(first)));
  if (picture !== null) process.stdout.write(pngOf(picture));
} else {
  const { numPages: pages } = document;
  const text = pages <= Number(first) ? (await extractText(document)).text.join('\n') : '';
  process.stdout.write(JSON.stringify({ pages, text }));
}
