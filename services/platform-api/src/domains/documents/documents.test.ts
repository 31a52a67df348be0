import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { hugePdf, noisyScan, pdf, scannedPdf, scansPdf } from '../../testing/pdf.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

jest.setTimeout(120_000);

const path = '/api/devices/extract-document';
const picture = readFileSync(new URL('../../testing/licence.png', import.meta.url));
const licence = 'DRIVING LICENCE\nLicence No: KA0120110012345\nName: ASHA RAO\nDate of Birth: 12/08/1984';
const passport = 'P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10';

let harness: PlatformHarness;
let owner: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());

const inJson = (file: Buffer, mime_type: string, more: object = {}) => ({
  content_base64: file.toString('base64'),
  mime_type,
  ...more,
});

async function upload(file: Buffer, type: string, fields: Record<string, string> = {}, to = path) {
  const { apiKey, token } = harness.ours.owner;
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(file)], { type }), 'file');
  const headers = { 'x-api-key': apiKey, authorization: `Bearer ${token}` };
  const response = await fetch(harness.base + to, { method: 'POST', headers, body: form });
  return { status: response.status, body: (await response.json()) as unknown };
}

describe('extract-document', () => {
  it('parses text that the client has read', async () => {
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
    const response = await upload(file, 'application/pdf', {
      document_type: 'driver_license',
      country: 'IN',
      store: 'false',
    });
    expect(response).toMatchObject({ status: 200, body: { data: expected } });
  });

  it('reads pictures with tesseract, without a network and concurrently', async () => {
    const fields = {
      license_number: { value: 'KA0120110012345', source: 'ocr' },
      date_of_birth: { value: '1984-08-12' },
    };
    const responses = await Promise.all([upload(picture, 'image/png'), owner.post(path, inJson(picture, 'image/png'))]);
    for (const response of responses)
      expect(response).toMatchObject({
        status: 200,
        body: { data: { document_type: 'driver_license', engine: 'tesseract', fields } },
      });
  });

  it('reads a scanned PDF as the pictures that it contains', async () => {
    const fields = {
      license_number: { value: 'KA0120110012345', source: 'ocr' },
      date_of_birth: { value: '1984-08-12' },
    };
    for (const scan of [scannedPdf(picture), scannedPdf(picture, 'Scanned with Some Scanner')])
      expect(await owner.post(path, inJson(scan, 'application/pdf'))).toMatchObject({
        status: 200,
        data: { document_type: 'driver_license', engine: 'tesseract', pages: 1, fields },
      });
  });

  it("reads the barcode on the back of a driver's licence", async () => {
    const barcode = readFileSync(new URL('../../testing/licence-barcode.png', import.meta.url));
    const fields = {
      license_number: { value: 'T64235789', source: 'barcode' },
      name: { value: 'MICHAEL JOHN SAMPLE' },
      date_of_birth: { value: '1986-06-06' },
    };
    expect(await upload(barcode, 'image/png')).toMatchObject({
      status: 200,
      body: { data: { document_type: 'driver_license', engine: 'barcode', warnings: [], fields } },
    });
  });

  it('stores a file only on request, and writes an audit log entry', async () => {
    const stored = () => harness.records.collection('documents').countDocuments({});
    const before = await stored();
    const file = pdf(licence.split('\n'));
    await owner.post(path, inJson(file, 'application/pdf'));
    expect(await stored()).toBe(before);
    await owner.post(path, inJson(file, 'application/pdf', { store: true }));
    expect(await stored()).toBe(before + 1);
    expect((await owner.get('/api/audit-log?action=documents.store')).items).toHaveLength(1);
  });

  it('encrypts a stored file; lists, returns and deletes it for permitted users, with an audit log entry each', async () => {
    const file = pdf(licence.split('\n'));
    const body = inJson(file, 'application/pdf', { store: true });
    const id = Number((await owner.post(path, body)).data['document_id']);
    const stored = await harness.deps.database
      .collection<{ _id: number; sealed: Buffer }>('document_files')
      .findOne({ _id: id }, { promoteBuffers: true });
    expect(stored?.sealed.length).toBeGreaterThan(file.length);
    expect(stored?.sealed.includes('KA0120110012345')).toBe(false);
    const response = {
      id,
      document_type: 'driver_license',
      mime_type: 'application/pdf',
      size_bytes: file.length,
      created_by: harness.ours.owner.id,
      driver_id: null,
      url: `/api/documents/${id}/file`,
    };
    expect((await owner.get('/api/documents?document_type=driver_license')).items[0]).toMatchObject(response);
    expect((await owner.get('/api/documents?document_type=passport')).items).toEqual([]);
    expect((await owner.get(`/api/documents/${id}`)).data).toMatchObject(response);
    const { apiKey, token } = harness.ours.owner;
    const headers = { 'x-api-key': apiKey, authorization: `Bearer ${token}` };
    const read = await fetch(`${harness.base}/api/documents/${id}/file`, { headers });
    expect(read.headers.get('content-type')).toBe('application/pdf');
    expect(read.headers.get('content-disposition')).toMatch(/^attachment/);
    expect(Buffer.from(await read.arrayBuffer())).toEqual(file);
    for (const other of [harness.as(harness.theirs.owner), harness.as(await harness.user('manager', harness.theirs))])
      for (const part of ['', '/file']) expect((await other.get(`/api/documents/${id}${part}`)).status).toBe(404);
    const viewer = harness.as(await harness.user('viewer'));
    expect((await viewer.get(`/api/documents/${id}/file`)).status).toBe(403);
    expect((await harness.as(harness.theirs.owner).delete(`/api/documents/${id}`)).status).toBe(404);
    expect((await owner.delete(`/api/documents/${id}`)).data).toMatchObject(response);
    expect((await owner.get(`/api/documents/${id}/file`)).status).toBe(404);
    expect((await owner.delete(`/api/documents/${id}`)).status).toBe(404);
    expect(await harness.records.collection('document_files').countDocuments({ _id: id })).toBe(0);
    for (const action of ['documents.read', 'documents.delete'])
      expect((await owner.get(`/api/audit-log?action=${action}`)).items).toHaveLength(1);
  });

  it('stores a file of a driver without reading it, in JSON and as a form, and lists it by driver', async () => {
    const driver = (await owner.post('/api/drivers', { name: 'Asha Rao' })).data.id;
    const documents = '/api/documents';
    const json = inJson(picture, 'image/png', { document_type: 'id_card', driver_id: driver });
    const created = await owner.post(documents, json);
    expect(created).toMatchObject({ status: 201, data: { document_type: 'id_card', driver_id: driver } });
    const fields = { document_type: 'passport', driver_id: String(driver) };
    expect(await upload(picture, 'image/png', fields, documents)).toMatchObject({ status: 201 });
    const { items } = await owner.get(`${documents}?driver_id=${driver}`);
    const types = items.map(({ document_type: type }) => type);
    expect(new Set(types)).toEqual(new Set(['id_card', 'passport']));
    expect((await owner.get(`${documents}?driver_id=${driver + 1_000_000}`)).items).toEqual([]);
    const other = harness.as(harness.theirs.owner);
    expect((await other.get(`${documents}?driver_id=${driver}`)).items).toEqual([]);
    expect((await other.post(documents, json)).status).toBe(404);
    const viewer = harness.as(await harness.user('viewer'));
    expect((await viewer.post(documents, json)).status).toBe(403);
    expect((await owner.post(documents, { ...json, content_base64: 'aGVsbG8=' })).status).toBe(422);
    expect((await owner.post(documents, { document_type: 'id_card' })).status).toBe(400);
  });

  it('returns a null document_id if there is no file to store', async () => {
    expect((await owner.post(path, { text: passport, store: true })).data).toMatchObject({ document_id: null });
  });

  it('rejects a picture that is small as a file and huge in memory before decoding it', async () => {
    const bomb = Buffer.from(picture);
    bomb.writeUInt32BE(30_000, 16);
    bomb.writeUInt32BE(30_000, 20);
    const refused = await owner.post(path, inJson(bomb, 'image/png'));
    expect(refused.body).toMatchObject({
      status: 413,
      code: 'body_too_large',
      error: 'The picture has 30000 x 30000 pixels. The limit is 50 million.',
    });
    expect((await upload(bomb, 'image/png')).status).toBe(413);
    const ofBlanks = await owner.post(path, inJson(hugePdf(4000), 'application/pdf'));
    expect(ofBlanks.body).toMatchObject({ status: 422, code: 'unreadable_document' });
    const ofNoise = await owner.post(path, inJson(scansPdf([noisyScan(1000)]), 'application/pdf'));
    expect(ofNoise.body).toMatchObject({
      status: 422,
      code: 'unreadable_document',
      error: expect.stringMatching(/page 1 of the PDF .* \(32 MiB as PNG\)/),
    });
  });

  it('takes no longer for a text designed to be slow to parse', async () => {
    const startedAtMs = performance.now();
    for (const [body, status] of [
      [{ content_base64: `${' '.repeat(1_000_000)}!` }, 400],
      [{ text: `${' '.repeat(99_999)}x` }, 422],
    ] as const)
      expect((await owner.post(path, body)).status).toBe(status);
    // Usually milliseconds. An algorithm that tries every split of the blanks needs a quarter of an hour for the first
    // body alone.
    expect(performance.now() - startedAtMs).toBeLessThan(60_000);
    const lines = picture.toString('base64').replaceAll(/.{76}/g, '$&\r\n');
    expect((await owner.post(path, { content_base64: lines })).status).toBe(200);
  });

  it('rejects invalid requests', async () => {
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
    expect(await harness.anonymous.post(path, { text: licence })).toMatchObject({ status: 401 });
  });

  it('responds 413 to a file above 10 MiB', async () => {
    expect(await upload(Buffer.alloc(10 * 1024 * 1024 + 1), 'image/png')).toMatchObject({ status: 413 });
    expect(await upload(Buffer.alloc(15 * 1024 * 1024), 'image/png')).toMatchObject({ status: 413 });
  });
});

describe('OCR_ENGINE', () => {
  it('none: responds 503 to a picture and reads everything else', async () => {
    const plain = await PlatformHarness.open({ OCR_ENGINE: 'none' });
    try {
      const client = plain.as(plain.ours.owner);
      const refused = await client.post(path, inJson(picture, 'image/png'));
      expect(refused).toMatchObject({ status: 503, body: { code: 'provider_not_configured' } });
      const scanned = await client.post(path, inJson(scannedPdf(picture), 'application/pdf'));
      expect(scanned).toMatchObject({ status: 503, body: { code: 'provider_not_configured' } });
      const withFooter = await client.post(
        path,
        inJson(scannedPdf(picture, 'Scanned with Some Scanner'), 'application/pdf'),
      );
      expect(withFooter).toMatchObject({ status: 422 });
      expect(await client.post(path, { text: passport })).toMatchObject({ status: 200 });
    } finally {
      await plain.close();
    }
  });

  it('http: sends pictures to a service of the operator, and responds 502 if it fails', async () => {
    let status = 200;
    const server: Server = createServer((request, response) => {
      request
        .resume()
        .on('end', () => response.writeHead(status).end(JSON.stringify({ text: licence, confidence: 0.9 })));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const own = await PlatformHarness.open({ OCR_ENGINE: 'http', OCR_HTTP_URL: `http://127.0.0.1:${port}/read` });
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
