import { createServer, get as httpGet, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { locateClip, serveUseCase } from '@fleet/bus';
import { verifyClipPath } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { configSchema } from '../config.ts';
import { type FakeMediaPod, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { ftpPod, requestClip, UploadHarness } from '../testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(90_000);

let uploads: UploadHarness;
let api: Awaited<ReturnType<UploadHarness['startService']>>;
let id: string;
let podUrl = '';
let source: { stop(): Promise<void> };
beforeAll(async () => {
  uploads = await UploadHarness.open();
  api = await uploads.startService();
  id = await completed();
});
beforeEach(async () => {
  source = serveUseCase(
    uploads.harness.bus,
    locateClip(ftpPod),
    { queue: 'q', onError: () => undefined },
    async () => ({
      httpUrl: podUrl,
    }),
  );
  await uploads.harness.bus.nc.flush();
});
afterEach(() => source.stop());
afterAll(() => uploads.close());

async function completed(): Promise<string> {
  const upload = await requestClip(api, await uploads.connectCamera());
  await uploads.records.transition(upload, ['uploading'], 'completed');
  return upload;
}

/** Serves as the pod that stores the file during the test. */
async function withPod<T>(
  respond: Parameters<typeof startFakeMediaPod>[0],
  work: (pod: FakeMediaPod) => Promise<T>,
): Promise<T> {
  const pod = await startFakeMediaPod(respond);
  podUrl = pod.url;
  try {
    return await work(pod);
  } finally {
    await pod.close();
  }
}

const file = (more = '', of = id): string => `${api.base}/api/v1/videos/file?video_id=${of}${more}`;
const refusal = (status: number, sentence: string, headers: Record<string, string> = {}) =>
  withPod(
    (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ status, error: sentence }));
    },
    async () => {
      const response = await fetch(file());
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
  );

describe('GET /videos/file', () => {
  it('requests each form from the pod by a signed URL, and forwards its response', async () => {
    const headers = {
      'content-type': 'video/mp2t',
      'content-length': '5',
      'accept-ranges': 'bytes',
      etag: '"e"',
      'content-disposition': 'attachment; filename="a.ts"',
      'x-inner': 'secret',
    };
    await withPod(
      (_request, response) => response.writeHead(200, headers).end('12345'),
      async (pod) => {
        for (const [query, format] of [
          ['', 'original'],
          ['&format=original', 'original'],
          ['&format=mp4', 'mp4'],
        ] as const) {
          const response = await fetch(file(query));
          expect([response.status, await response.text()]).toEqual([200, '12345']);
          const { 'x-inner': _inner, ...publicHeaders } = headers;
          expect(Object.fromEntries(response.headers)).toMatchObject(publicHeaders);
          expect(response.headers.get('x-inner')).toBeNull();
          const upstreamUrl = new URL(pod.requests.at(-1)?.url ?? '', pod.url);
          expect(upstreamUrl.pathname).toBe(`/clips/${id}/${format}`);
          const signed = Object.fromEntries(upstreamUrl.searchParams);
          const secret = configSchema.CLIPS_SIGNING_SECRET.default;
          expect(verifyClipPath(secret, { uploadId: id, format }, signed)).toBe('valid');
        }
      },
    );
  });

  it('forwards a range and If-Range, and returns the part', async () => {
    await withPod(
      (_request, response) =>
        response
          .writeHead(206, { 'content-range': 'bytes 1-2/5', 'content-length': '2', 'content-type': 'video/mp4' })
          .end('23'),
      async (pod) => {
        const response = await fetch(file('', id.toUpperCase()), {
          headers: { range: 'bytes=1-2', 'if-range': '"e"', cookie: 'a=b' },
        });
        expect([response.status, response.headers.get('content-range'), await response.text()]).toEqual([
          206,
          'bytes 1-2/5',
          '23',
        ]);
        expect(pod.requests[0]?.headers).toMatchObject({ range: 'bytes=1-2', 'if-range': '"e"' });
        expect(pod.requests[0]?.headers['cookie']).toBeUndefined();
      },
    );
  });

  it('forwards the headers of the pod to HEAD, and returns 405 to other methods', async () => {
    await withPod(
      (_request, response) => response.writeHead(200, { 'content-length': '5', 'content-type': 'video/mp4' }).end(),
      async (pod) => {
        const response = await fetch(file(), { method: 'HEAD' });
        expect([response.status, response.headers.get('content-length')]).toEqual([200, '5']);
        expect(pod.requests[0]?.method).toBe('HEAD');
      },
    );
    const refused = await fetch(file(), { method: 'DELETE' });
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, expect.stringContaining('GET, HEAD')]);
  });

  it.each([
    [404, 404, 'The files of this upload no longer exist.', {}],
    [409, 409, 'The upload is failed.', {}],
    [416, 416, 'The requested range lies outside.', { 'content-range': 'bytes */5' }],
    [422, 422, 'The clip cannot be converted.', {}],
    [503, 503, 'The MP4 is being created.', { 'retry-after': '5' }],
  ])('a %i of the pod is a %i with its message', async (status, expected, sentence, headers) => {
    const response = await refusal(status, sentence, headers);
    expect([response.status, response.body]).toEqual([expected, { status: expected, error: sentence }]);
    for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toBe(value);
  });

  it.each([401, 403, 500, 301])('a %i of the pod is a 502 without its text', async (status) => {
    const response = await refusal(status, 'inner workings');
    expect([response.status, response.body]).toEqual([
      502,
      { status: 502, error: 'The server that has the video returned an error.' },
    ]);
  });

  it('is 502 if the pod does not reply on the bus, on its port, or in time', async () => {
    const hasty = await uploads.startService({ REQUEST_TIMEOUT_MS: '2000' });
    const reached = { status: 502, body: { status: 502, error: 'The server that has the video cannot be reached.' } };
    podUrl = 'http://127.0.0.1:1';
    expect(await api.get(`/videos/file?video_id=${id}`)).toMatchObject(reached);
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    podUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    expect(await hasty.get(`/videos/file?video_id=${id}`)).toMatchObject(reached);
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
    await source.stop();
    expect(await api.get(`/videos/file?video_id=${id}`)).toMatchObject(reached);
  });

  it('uses any pod once the files are in object storage', async () => {
    const shared = await completed();
    await uploads.records.set(shared, ['completed'], { server: { podId: 'any', httpUrl: 'http://127.0.0.1:1' } });
    await withPod(
      (_request, response) => response.writeHead(200, { 'content-length': '2' }).end('ok'),
      async (pod) => {
        const any = serveUseCase(
          uploads.harness.bus,
          locateClip('any'),
          { queue: 'q', onError: () => undefined },
          async () => ({
            httpUrl: pod.url,
          }),
        );
        await uploads.harness.bus.nc.flush();
        expect(await (await fetch(file('', shared))).text()).toBe('ok');
        await any.stop();
      },
    );
  });

  it('is 409 until the upload is completed, 404 without one, 400 for an invalid id or format', async () => {
    const statuses = ['uploading', 'paused', 'failed', 'cancelled'] as const;
    for (const status of statuses) {
      const other = await requestClip(api, await uploads.connectCamera());
      if (status !== 'uploading') await uploads.records.transition(other, ['uploading'], status);
      expect(await api.get(`/videos/file?video_id=${other}`)).toMatchObject({
        status: 409,
        body: { status: 409, error: expect.stringContaining(status) },
      });
    }
    const unknown = '0123456789abcdef01234567';
    expect((await api.get(`/videos/file?video_id=${unknown}`)).status).toBe(404);
    for (const query of ['', '?video_id=1', `?video_id=${id}&format=avi`, `?video_id=${id}&format=mp4&format=mp4`])
      expect((await api.get(`/videos/file${query}`)).status).toBe(400);
  });

  it('reads no faster than its caller, and stops when that leaves', async () => {
    let written = 0;
    await withPod(
      (_request, response) => {
        response.writeHead(200, { 'content-length': '1000000000' });
        const fill = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(1_000_000))) written += 1;
        };
        response.on('drain', fill);
        fill();
      },
      async (pod) => {
        const response = await new Promise<IncomingMessage>((resolve) => httpGet(file(), resolve));
        await new Promise((resolve) => response.once('readable', resolve));
        expect(pod.openResponses.size).toBe(1);
        response.destroy();
        await waitFor(() => pod.openResponses.size === 0);
        expect(written).toBeLessThan(200);
      },
    );
  });

  it('closes its response when the pod dies', async () => {
    const cut = await withPod(
      (_request, response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('half');
      },
      async (pod) => {
        const response = await fetch(file());
        for (const open of pod.openResponses) open.destroy();
        return response.text().then(
          () => 'whole',
          () => 'cut',
        );
      },
    );
    expect(cut).toBe('cut');
  });
});
