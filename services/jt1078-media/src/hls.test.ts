import { type AccessUnit } from '@fleet/jt1078/testing';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { type MediaHarness, signStreamUrl, startHarness } from './testing/harness.ts';
import { probeStreams } from './testing/player.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
let card: AccessUnit[];
let h265Card: AccessUnit[];
beforeAll(async () => {
  [card, h265Card] = await Promise.all([createTestCard(), createTestCard({ codec: 'h265' })]);
  harness = await startHarness({ MEDIA_GRACE_MS: '1000' });
});
afterAll(() => harness.stop());

async function stream(units: AccessUnit[] = card, options: { sound?: boolean; payloadType?: number } = {}) {
  const id = await harness.requestStream();
  const camera = new TcpCamera(harness.service.livePort);
  const feed = startStreaming(camera, new TestCamera(id), units, options);
  const url = (suffix: '.mp4' | `/${string}`, query: Record<string, string> = {}): string =>
    signStreamUrl(harness.service, id, query, suffix);
  const close = (): void => {
    feed.stop();
    camera.close();
  };
  return { id, url, close };
}

/** Reads a playlist, whose first request waits until there is a segment. */
async function readPlaylist(url: string): Promise<string> {
  const response = await fetch(url);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  expect(response.headers.get('content-type')).toBe('application/vnd.apple.mpegurl');
  return text;
}

const getFiles = (playlist: string): string[] =>
  playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

const getInit = (playlist: string): string => /EXT-X-MAP:URI="([^"]+)"/.exec(playlist)?.[1] ?? '';
const getSequence = (playlist: string): number => Number(/EXT-X-MEDIA-SEQUENCE:(\d+)/.exec(playlist)?.[1]);

async function readFile(url: string): Promise<Buffer> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

describe('HLS of a live stream', () => {
  it('is a playlist whose segments ffprobe decodes, with the sound of the camera', async () => {
    const { url, close } = await stream(card, { sound: true });
    const text = await readPlaylist(url('/index.m3u8'));
    const [file = ''] = getFiles(text);
    const data = Buffer.concat([await readFile(url(`/${getInit(text)}`)), await readFile(url(`/${file}`))]);
    const streams = await probeStreams(data, 'mp4');
    expect(streams.map(({ codec_name: codec }) => codec).toSorted()).toEqual(['aac', 'h264']);
    expect(streams.find(({ codec_name: codec }) => codec === 'h264')).toMatchObject({ width: 320, height: 240 });
    close();
  });

  it('announces parts, and a request for the next one waits until it exists', async () => {
    const { url, close } = await stream();
    const text = await readPlaylist(url('/index.m3u8'));
    const hint = /PRELOAD-HINT:TYPE=PART,URI="(part-(\d+)\.(\d+)\.m4s)"/.exec(text);
    const [part, next] = await Promise.all([
      readFile(url(`/${hint?.[1] ?? ''}`)),
      readPlaylist(url('/index.m3u8', { _HLS_msn: hint?.[2] ?? '', _HLS_part: hint?.[3] ?? '' })),
    ]);
    expect(part.length).toBeGreaterThan(0);
    expect(next).toContain(`URI="${hint?.[1]}"`);
    close();
  });

  it('plays H.265 with the tag that Apple requires', async () => {
    const { url, close } = await stream(h265Card, { payloadType: 99 });
    const text = await readPlaylist(url('/index.m3u8'));
    const [file = ''] = getFiles(text);
    const data = Buffer.concat([await readFile(url(`/${getInit(text)}`)), await readFile(url(`/${file}`))]);
    expect(await probeStreams(data, 'mp4')).toMatchObject([
      { codec_name: 'hevc', codec_tag_string: 'hvc1', width: 320 },
    ]);
    close();
  });

  it('ends with the stream, and the end stays readable', async () => {
    const { id, url, close } = await stream();
    await readPlaylist(url('/index.m3u8'));
    close();
    await waitFor(async () => (await harness.findStream(id)) === undefined, 'the end of the stream');
    expect(await readPlaylist(url('/index.m3u8'))).toContain('#EXT-X-ENDLIST');
  });

  it('stops to convert without requests, after which the stream has no viewer', async () => {
    const { id, url, close } = await stream();
    const before = await readPlaylist(url('/index.m3u8'));
    expect(await harness.findStream(id)).toMatchObject({ viewers: 1 });
    await waitFor(async () => (await harness.findStream(id))?.viewers === 0, 'no viewers');
    // A reader that returns starts it again; the numbers of its segments rise.
    const after = await readPlaylist(url('/index.m3u8'));
    expect(getFiles(after).length).toBeGreaterThan(0);
    expect(getFiles(before)).not.toEqual(expect.arrayContaining(getFiles(after)));
    expect(getSequence(after)).toBeGreaterThan(getSequence(before));
    close();
  });

  it('needs a signature for the playlist and its files', async () => {
    const { url, close } = await stream();
    const text = await readPlaylist(url('/index.m3u8'));
    const withoutSignature = (suffix: `/${string}`): string => url(suffix).split('?')[0] ?? '';
    expect((await fetch(withoutSignature('/index.m3u8'))).status).toBe(401);
    expect((await fetch(withoutSignature(`/${getInit(text)}`))).status).toBe(401);
    expect((await fetch(url('/index.m3u8').replace(/signature=../, 'signature=00'))).status).toBe(403);
    expect((await fetch(url('/segment-999.m4s'))).status).toBe(404);
    expect((await fetch(url('/index.m3u8', { _HLS_msn: String(getSequence(text) + 999) }))).status).toBe(400);
    close();
  });
});

describe('the MP4 of a live stream', () => {
  it.each(['h264', 'h265'] as const)('is readable while it grows: %s', async (codec) => {
    const { url, close } = await (codec === 'h264'
      ? stream(card, { sound: true })
      : stream(h265Card, { payloadType: 99 }));
    const client = new AbortController();
    const response = await fetch(url('.mp4'), { signal: client.signal });
    expect(response.headers.get('content-type')).toBe('video/mp4');
    const chunks: Buffer[] = [];
    const reading = (async () => {
      for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk));
    })().catch(() => undefined);
    await waitFor(() => chunks.reduce((sum, { length }) => sum + length, 0) > 100_000, 'three seconds of media');
    client.abort();
    await reading;
    const streams = await probeStreams(Buffer.concat(chunks), 'mp4');
    expect(streams.map(({ codec_name: name }) => name)).toContain(codec === 'h264' ? 'h264' : 'hevc');
    close();
  });
});
