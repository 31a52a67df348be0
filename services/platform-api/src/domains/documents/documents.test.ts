import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformWorld } from '../../testing/platform-world.ts';

jest.setTimeout(120_000);

const path = '/api/devices/extract-document';
const picture = readFileSync(new URL('../../testing/licence.png', import.meta.url));
const licence = 'DRIVING LICENCE\nLicence No: KA0120110012345\nName: ASHA RAO\nDate of Birth: 12/08/1984';
const passport = 'P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10';

let world: PlatformWorld;
let owner: Client;
beforeAll(async () => {
  world = await PlatformWorld.open();
  owner = world.as(world.ours.owner);
});
afterAll(() => world?.close());

/** A PDF with a line of text on each page. */
function pdf(...pages: readonly (readonly string[])[]): Buffer {
  const objects = ['<< /Type /Catalog /Pages 2 0 R >>'];
  const kids = pages.map((_page, i) => `${4 + i * 2} 0 R`).join(' ');
  objects.push(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`);
  objects.push('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  for (const [i, lines] of pages.entries()) {
    const shown = lines.map((line) => `(${line}) Tj 0 -20 Td`).join(' ');
    const content = `BT /F1 12 Tf 50 700 Td ${shown} ET`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + i * 2} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    );
  }
  const body = objects.map((object, i) => `${i + 1} 0 obj\n${object}\nendobj\n`).join('');
  return Buffer.from(`%PDF-1.4\n${body}trailer << /Root 1 0 R /Size ${objects.length + 1} >>\n%%EOF\n`);
}

const inJson = (file: Buffer, mime_type: string, more: object = {}) => ({
  content_base64: file.toString('base64'),
  mime_type,
  ...more,
});

async function upload(file: Buffer, type: string, fields: Record<string, string> = {}) {
  const { apiKey, token } = world.ours.owner;
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(file)], { type }), 'file');
  const headers = { 'x-api-key': apiKey, authorization: `Bearer ${token}` };
  const response = await fetch(world.base + path, { method: 'POST', headers, body: form });
  return { status: response.status, body: (await response.json()) as unknown };
}

describe('extract-document', () => {
  it('reads text that was read elsewhere', async () => {
    expect(await owner.post(path, { text: passport })).toMatchObject({
      status: 200,
      data: {
        document_type: 'passport',
        engine: 'none',
        pages: 1,
        warnings: [],
        mrz: { format: 'TD3', valid: true },
        fields: { document_number: { value: 'L898902C3', source: 'mrz' }, date_of_birth: { value: '1974-08-12' } },
      },
    });
    const good = await owner.post(path, { text: passport });
    const wrong = await owner.post(path, { text: passport.replace('L898902C36', 'L898902C46') });
    expect(wrong).toMatchObject({ status: 200, data: { mrz: { valid: false }, warnings: expect.any(Array) } });
    expect(wrong.data['warnings']).toHaveLength(2);
    expect(Number(wrong.data['confidence'])).toBeLessThan(Number(good.data['confidence']));
  });

  it('reads the text layer of a PDF, in JSON and as a form', async () => {
    const file = pdf(['DRIVING LICENCE', 'Licence No: KA0120110012345'], ['Date of Birth: 12/08/1984']);
    const fields = {
      license_number: { value: 'KA0120110012345', source: 'text' },
      date_of_birth: { value: '1984-08-12' },
    };
    const expected = { document_type: 'driver_license', engine: 'pdf', pages: 2, fields };
    expect(await owner.post(path, inJson(file, 'application/pdf'))).toMatchObject({ status: 200, data: expected });
    const answer = await upload(file, 'application/pdf', {
      document_type: 'driver_license',
      country: 'IN',
      store: 'false',
    });
    expect(answer).toMatchObject({ status: 200, body: { data: expected } });
  });

  it('reads a picture with tesseract, without a network, several at once', async () => {
    const fields = {
      license_number: { value: 'KA0120110012345', source: 'ocr' },
      date_of_birth: { value: '1984-08-12' },
    };
    const answers = await Promise.all([upload(picture, 'image/png'), owner.post(path, inJson(picture, 'image/png'))]);
    for (const answer of answers)
      expect(answer).toMatchObject({
        status: 200,
        body: { data: { document_type: 'driver_license', engine: 'tesseract', fields } },
      });
  });

  it('keeps a file only where that is asked for, and audits it', async () => {
    const kept = () => world.records.collection('documents').countDocuments({});
    const before = await kept();
    const file = pdf(licence.split('\n'));
    await owner.post(path, inJson(file, 'application/pdf'));
    expect(await kept()).toBe(before);
    await owner.post(path, inJson(file, 'application/pdf', { store: true }));
    expect(await kept()).toBe(before + 1);
    expect((await owner.get('/api/audit-log?action=documents.store')).items).toHaveLength(1);
  });

  it('refuses bad requests', async () => {
    for (const [body, status] of [
      [{}, 400],
      [undefined, 400],
      [{ text: licence, content_base64: 'AAAA' }, 400],
      [{ text: 5 }, 400],
      [{ text: licence, document_type: 'recipe' }, 400],
      [{ text: licence, country: 'India' }, 400],
      [{ file: 'https://example.com/a.png' }, 400],
      [{ content_base64: '???' }, 400],
      [inJson(pdf(['a'], ['b'], ['c'], ['d'], ['e'], ['f']), 'application/pdf'), 400],
      [inJson(picture, 'text/html'), 415],
      [{ text: 'nothing to see here' }, 422],
      [inJson(Buffer.from('GIF89a, or so'), 'image/png'), 422],
      [inJson(Buffer.from('%PDF-1.4 broken'), 'application/pdf'), 422],
      [inJson(picture.subarray(0, 60), 'image/png'), 422],
      [inJson(pdf([]), 'application/pdf'), 422],
    ] as const)
      expect([JSON.stringify(body)?.slice(0, 80), (await owner.post(path, body)).status]).toEqual([
        JSON.stringify(body)?.slice(0, 80),
        status,
      ]);
    expect(await world.anonymous.post(path, { text: licence })).toMatchObject({ status: 401 });
  });

  it('answers 413 to a file above 10 MiB', async () => {
    expect(await upload(Buffer.alloc(10 * 1024 * 1024 + 1), 'image/png')).toMatchObject({ status: 413 });
    expect(await upload(Buffer.alloc(15 * 1024 * 1024), 'image/png')).toMatchObject({ status: 413 });
  });
});

describe('OCR_ENGINE', () => {
  it('none answers 503 to a picture and reads everything else', async () => {
    const plain = await PlatformWorld.open({ OCR_ENGINE: 'none' });
    try {
      const client = plain.as(plain.ours.owner);
      const refused = await client.post(path, inJson(picture, 'image/png'));
      expect(refused).toMatchObject({ status: 503, body: { code: 'provider_not_configured' } });
      expect(await client.post(path, { text: passport })).toMatchObject({ status: 200 });
    } finally {
      await plain.close();
    }
  });

  it('http asks a service of the operator, and answers 502 when that fails', async () => {
    let status = 200;
    const server: Server = createServer((request, response) => {
      request
        .resume()
        .on('end', () => response.writeHead(status).end(JSON.stringify({ text: licence, confidence: 0.9 })));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const own = await PlatformWorld.open({ OCR_ENGINE: 'http', OCR_HTTP_URL: `http://127.0.0.1:${port}/read` });
    try {
      const client = own.as(own.ours.owner);
      const read = await client.post(path, inJson(picture, 'image/png'));
      expect(read).toMatchObject({ status: 200, data: { engine: 'http', fields: { name: { value: 'ASHA RAO' } } } });
      status = 500;
      expect(await client.post(path, inJson(picture, 'image/png'))).toMatchObject({ status: 502 });
    } finally {
      await own.close();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
