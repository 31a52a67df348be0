import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync, deflateSync } from 'node:zlib';

/** Creates a PDF with some lines of text on each page. */
export function pdf(...pages: readonly (readonly string[])[]): Buffer {
  const kids = pages.map((_page, i) => `${4 + i * 2} 0 R`).join(' ');
  const objects: (string | Buffer)[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  for (const [i, lines] of pages.entries()) {
    const response = lines.map((line) => `(${line}) Tj 0 -20 Td`).join(' ');
    const content = `BT /F1 12 Tf 50 700 Td ${response} ET`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + i * 2} 0 R >>`,
      stream('', Buffer.from(content)),
    );
  }
  return fileOf(objects);
}

/** A picture with 8 bits per colour channel. Its data is in PNG format: filtered rows, deflated. */
interface Scan {
  readonly width: number;
  readonly height: number;
  readonly colours: 1 | 3;
  readonly data: Buffer;
}

/** Returns a grey PNG with 8 bits per pixel. */
const greyScan = (png: Buffer): Scan => ({
  width: png.readUInt32BE(16),
  height: png.readUInt32BE(20),
  colours: 1,
  data: partsOf(png, 'IDAT'),
});

/**
 * Returns a few kilobytes that decompress to a large colour picture. Only filters make it compressible: all rows are
 * the same noise, and each is longer than deflate's window.
 */
export function noisyScan(height: number): Scan {
  const width = 12_000;
  const up = 2;
  const row = Buffer.concat([Buffer.from([up]), randomBytes(width * 3)]);
  const others = Buffer.alloc((height - 1) * row.length);
  for (let at = 0; at < others.length; at += row.length) others.writeUInt8(up, at);
  return { width, height, colours: 3, data: deflateSync(Buffer.concat([row, others])) };
}

/** Creates a scanned PDF of one page: a grey PNG with 8 bits per pixel, and no text except a footer. */
export const scannedPdf = (png: Buffer, footer = ''): Buffer => scansPdf([greyScan(png)], footer);

/** Creates a PDF with a picture on each page, and no text except a footer. */
export function scansPdf(scans: readonly Scan[], footer = ''): Buffer {
  const kids = scans.map((_scan, i) => `${4 + i * 3} 0 R`).join(' ');
  const pages = scans.flatMap(({ width, height, colours, data }, i) => {
    const how = `/Filter /FlateDecode /DecodeParms << /Predictor 15 /Colors ${colours} /BitsPerComponent 8 /Columns ${width} >>`;
    const space = colours === 3 ? '/DeviceRGB' : '/DeviceGray';
    return [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Resources << /Font << /F1 3 0 R >> /XObject << /Scan ${6 + i * 3} 0 R >> >> /Contents ${5 + i * 3} 0 R >>`,
      stream('', Buffer.from(`q ${width} 0 0 ${height} 0 0 cm /Scan Do Q BT /F1 8 Tf 5 5 Td (${footer}) Tj ET`)),
      stream(
        `/Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace ${space} /BitsPerComponent 8 ${how}`,
        data,
      ),
    ];
  });
  return fileOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${scans.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages,
  ]);
}

/**
 * Creates a PDF of one page whose content is the given number of MiB of blanks, each of which takes a kilobyte in the
 * file.
 */
export function hugePdf(mebibytes: number): Buffer {
  const block = deflateRawSync(Buffer.alloc(2 ** 20, ' '), { finishFlush: constants.Z_FULL_FLUSH });
  const blocks = Array.from({ length: mebibytes }, () => block);
  return fileOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << >> /Contents 4 0 R >>',
    stream('/Filter /FlateDecode', Buffer.concat([Buffer.from('7801', 'hex'), ...blocks, Buffer.from('0300', 'hex')])),
  ]);
}

const stream = (more: string, content: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`<< ${more} /Length ${content.length} >>\nstream\n`),
    content,
    Buffer.from('\nendstream'),
  ]);

const fileOf = (objects: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat([
    Buffer.from('%PDF-1.4\n'),
    ...objects.flatMap((object, i) => [
      Buffer.from(`${i + 1} 0 obj\n`),
      Buffer.from(object),
      Buffer.from('\nendobj\n'),
    ]),
    Buffer.from(`trailer << /Root 1 0 R /Size ${objects.length + 1} >>\n%%EOF\n`),
  ]);

/** Returns the content of the PNG chunks with a name. */
function partsOf(png: Buffer, name: string): Buffer {
  const found: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === name)
      found.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  return Buffer.concat(found);
}
