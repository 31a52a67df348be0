import { readFileSync } from 'node:fs';
import { describe, expect, it, jest } from '@jest/globals';
import { hugePdf, pdf, scannedPdf } from '../../testing/pdf.ts';
import { readPdf } from './pdf.ts';
import { pictureSize } from './pictures.ts';

jest.setTimeout(120_000);

const png = readFileSync(new URL('../../testing/licence.png', import.meta.url));
const read = (file: Buffer, withPictures = true) => readPdf(file, { maxPages: 5, withPictures });

describe('readPdf', () => {
  it('reads the text layer, page by page', async () => {
    const content = await read(pdf(['DRIVING LICENCE', 'No 1'], ['Page two']));
    expect(content).toMatchObject({ pages: 2, pictures: [] });
    expect(content?.text.split('\n')).toEqual(['DRIVING LICENCE', 'No 1', 'Page two']);
  });

  it('hands out the picture of a page that was scanned, where that is asked for', async () => {
    const scan = scannedPdf(png);
    const content = await read(scan);
    expect(content).toMatchObject({ pages: 1, text: '' });
    expect(content?.pictures.map((picture) => pictureSize(picture, 'image/png'))).toEqual([
      pictureSize(png, 'image/png'),
    ]);
    expect(await read(scan, false)).toMatchObject({ pictures: [] });
  });

  it('only counts the pages of one that has too many', async () => {
    const pages = ['1', '2', '3', '4', '5', '6'].map((no) => [`Page ${no}`]);
    expect(await read(pdf(...pages))).toEqual({ pages: 6, text: '', pictures: [] });
  });

  it('unpacks no picture of too many pixels', async () => {
    const wide = scannedPdf(png).toString('latin1').replace('/Width 900', '/Width 99000');
    expect(await read(Buffer.from(wide, 'latin1'))).toMatchObject({ pages: 1, pictures: [] });
  });

  it('gives up one that is small as a file and huge in memory, and the broken', async () => {
    const huge = hugePdf(4000);
    expect(huge.length).toBeLessThan(10 * 2 ** 20);
    expect(await read(huge)).toBeNull();
    expect(await read(Buffer.from('%PDF-1.4 broken'))).toBeNull();
  });
});
