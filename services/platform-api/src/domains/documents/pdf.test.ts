import { readFileSync } from 'node:fs';
import { describe, expect, it, jest } from '@jest/globals';
import { hugePdf, noisyScan, pdf, scannedPdf, scansPdf } from '../../testing/pdf.ts';
import { imageSize } from './image-size.ts';
import { maxPictureBytes, readPdf, readPdfPicture } from './pdf.ts';

jest.setTimeout(120_000);

const png = readFileSync(new URL('../../testing/licence.png', import.meta.url));
const never = new AbortController().signal;
const read = (file: Buffer) => readPdf(file, 5, never);
const picture = (file: Buffer, page = 1) => readPdfPicture(file, page, never);

describe('readPdf', () => {
  it('reads the text layer page by page', async () => {
    const content = await read(pdf(['DRIVING LICENCE', 'No 1'], ['Page two']));
    expect(content).toMatchObject({ pages: 2 });
    expect(content?.text.split('\n')).toEqual(['DRIVING LICENCE', 'No 1', 'Page two']);
  });

  it('returns only the number of pages for a file with too many', async () => {
    const pages = ['1', '2', '3', '4', '5', '6'].map((no) => [`Page ${no}`]);
    expect(await read(pdf(...pages))).toEqual({ pages: 6, text: '' });
  });

  it('returns null for a file that is huge in memory, and for a broken file', async () => {
    const huge = hugePdf(4000);
    expect(huge.length).toBeLessThan(10 * 2 ** 20);
    expect(await read(huge)).toBeNull();
    expect(await read(Buffer.from('%PDF-1.4 broken'))).toBeNull();
  });
});

describe('readPdfPicture', () => {
  it('returns the picture of the requested page', async () => {
    const scan = scannedPdf(png);
    expect(await read(scan)).toEqual({ pages: 1, text: '' });
    expect(imageSize((await picture(scan)) ?? Buffer.alloc(0), 'image/png')).toEqual(imageSize(png, 'image/png'));
    const two = scansPdf([noisyScan(10), noisyScan(20)]);
    for (const [page, height] of [
      [1, 10],
      [2, 20],
    ] as const)
      expect(imageSize((await picture(two, page)) ?? Buffer.alloc(0), 'image/png')).toEqual({
        width: 12_000,
        height,
      });
  });

  it('returns an empty buffer for a page without a picture, or with too many pixels', async () => {
    expect(await picture(pdf(['DRIVING LICENCE']))).toEqual(Buffer.alloc(0));
    const wide = scannedPdf(png).toString('latin1').replace('/Width 900', '/Width 99000');
    expect(await picture(Buffer.from(wide, 'latin1'))).toEqual(Buffer.alloc(0));
  });

  it('returns null for a picture that is small in the file and too large as PNG', async () => {
    const half = await picture(scansPdf([noisyScan(500)]));
    expect(half?.length).toBeGreaterThan(maxPictureBytes / 2);
    const whole = scansPdf([noisyScan(1000)]);
    expect(whole.length).toBeLessThan(10 * 2 ** 20);
    expect(await picture(whole)).toBeNull();
  });
});
