import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { publish, shareLinkRevoked } from '@fleet/bus';
import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { claimStream } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { captureAuditEvents } from '../testing/capture-audit-events.ts';
import { type FakeMediaPod, respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { FakePlatform } from '../testing/fake-platform.ts';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';
import { readUntilClosed } from '../testing/read-until-closed.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const secret = 'a-secret-for-tests-only';
const tokens = new StreamTokens({ secrets: secret, lifetimeSeconds: 600 });

let harness: DeviceApiHarness;
let platform: FakePlatform;
let pod: FakeMediaPod;
let service: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  platform = await FakePlatform.start(harness.bus);
  pod = await startFakeMediaPod(serveMedia);
  service = await harness.startService({ DEVICE_API_AUTH: 'key', STREAM_TOKEN_SECRET: secret });
});
afterAll(async () => {
  await platform.stop();
  await pod.close();
  await harness.close();
});

const respondWithFlv = respondWithStream('FLV of the pod');
function serveMedia(request: IncomingMessage, response: ServerResponse): void {
  if (request.url?.includes('/index.m3u8') === true) response.end('#EXTM3U\nsegment-1.m4s\n');
  else if (request.url?.includes('/segment-1.m4s') === true) response.end('media');
  else respondWithFlv(request, response);
}

let lastLinkId = 0;
/** Creates a share link of a camera that streams once it is started. */
async function share() {
  const imei = await harness.connectDevice(async ({ command }) => {
    if (command.kind === 'startLive') await harness.connectStream(imei, command.channel, pod.url);
    return createOutcome(0x9101);
  });
  lastLinkId += 1;
  const link = { linkId: lastLinkId, slug: `slug${String(lastLinkId).padStart(18, '0')}` };
  platform.links.set(link.linkId, imei);
  const { token } = await tokens.issueForLink(link);
  const path = `/s/${link.slug}/1`;
  return { imei, link, path, token, url: `${service.video.base}${path}/stream.flv?token=${token}` };
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.status;
}

describe('live video of a share link', () => {
  it('starts when a guest opens it, in the lower quality and once', async () => {
    const { imei, url } = await share();
    const [first, second] = [await fetch(url), await fetch(url)];
    expect([first.status, first.headers.get('content-type'), second.status]).toEqual([200, 'video/x-flv', 200]);
    const { value } = (await first.body?.getReader().read()) ?? {};
    expect(Buffer.from(value ?? []).toString()).toBe('FLV of the pod');
    await second.body?.cancel();
    expect(harness.findCommands(imei).map(({ command }) => command)).toEqual([
      expect.objectContaining({ kind: 'startLive', channel: 1, streamType: 1, dataType: 0 }),
    ]);
  });

  it.each(['stream.flv', 'index.m3u8'])('starts again if its former stream has just ended: %s', async (file) => {
    const { imei, url } = await share();
    const ended = await startFakeMediaPod((_request, response) => response.writeHead(404).end());
    // Its claim is still there, and no pod runs the stream.
    const id = { kind: 'live', imei, channel: 1 } as const;
    await claimStream(harness.redis, id, { podId: 'dead-media', url: ended.url }, { acceptUnsolicited: true });
    try {
      expect(await statusOf(url.replace('stream.flv', file))).toBe(200);
      expect(harness.findCommands(imei)).toHaveLength(1);
    } finally {
      await ended.close();
    }
  });

  it('plays as HLS, whose files take the same token', async () => {
    const { imei, path, token } = await share();
    const playlist = await fetch(`${service.video.base}${path}/index.m3u8?token=${token}`);
    expect(await playlist.text()).toBe(`#EXTM3U\nhls/segment-1.m4s?token=${token}\n`);
    const file = await fetch(`${service.video.base}${path}/hls/segment-1.m4s?token=${token}`);
    expect(await file.text()).toBe('media');
    expect(harness.findCommands(imei)).toHaveLength(1);
  });

  it('plays over a websocket', async () => {
    const { url } = await share();
    const client = new WebSocket(url.replace('http', 'ws'));
    const [message] = (await once(client, 'message')) as [Buffer];
    expect(message.toString()).toBe('FLV of the pod');
    client.terminate();
  });

  it('reveals no terminal number', async () => {
    const { imei, url, token } = await share();
    expect(url).not.toContain(imei);
    const parts = token.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
    expect(parts.join(' ')).not.toContain(imei);
  });

  it('requires the token of the link, whether or not the camera streams', async () => {
    const [linked, other] = [await share(), await share()];
    const { base } = service.video;
    const open = (path: string, token: string) => statusOf(`${base}${path}/stream.flv?token=${token}`);
    expect(await statusOf(`${base}${linked.path}/stream.flv`)).toBe(401);
    expect(await open(linked.path, `${linked.token}x`)).toBe(401);
    expect(await open(linked.path, other.token)).toBe(403);
    const old = await tokens.issueForLink(linked.link, new Date(Date.now() - 700_000));
    expect(await open(linked.path, old.token)).toBe(401);
    // The token of a guest opens no route that names a device.
    expect(await statusOf(`${base}/${linked.imei}/1/stream.flv?token=${linked.token}`)).toBe(401);
    expect(harness.findCommands(linked.imei)).toEqual([]);
  });

  it('is 404 for a camera that the link does not show, and 502 if the camera refuses', async () => {
    const { url, imei } = await share();
    expect(await statusOf(url.replace('/1/stream', '/2/stream'))).toBe(404);
    await harness.connectDevice(() => createOutcome(0x9101, 1), imei);
    expect(await statusOf(url)).toBe(502);
  });

  it.each(['published', 'missed'])('ends for guests when the link is revoked by a %s event', async (how) => {
    const [ending, staying] = [await share(), await share()];
    const closed = await readUntilClosed(await fetch(ending.url));
    const open = await readUntilClosed(await fetch(staying.url));
    const playlistUrl = ending.url.replace('stream.flv', 'index.m3u8');
    expect(await statusOf(playlistUrl)).toBe(200);
    platform.links.delete(ending.link.linkId);
    if (how === 'published') publish(harness.bus, shareLinkRevoked, { linkId: ending.link.linkId });
    await waitFor(() => closed.isClosed());
    await waitFor(async () => (await statusOf(playlistUrl)) !== 200);
    expect(open.isClosed()).toBe(false);
    await Promise.all([closed.end(), open.end()]);
  });

  it('is recorded in the audit log of the vehicle', async () => {
    const { events, ...capture } = captureAuditEvents(harness.bus);
    const { imei, url, link } = await share();
    try {
      expect(await statusOf(url)).toBe(200);
      await waitFor(() => events.some(({ linkId }) => linkId === link.linkId));
      expect(events.filter(({ linkId }) => linkId === link.linkId)).toMatchObject([
        { kind: 'view', operation: 'watchSharedStream', linkId: link.linkId, accountId: 7, imei, channel: 1 },
      ]);
    } finally {
      capture.stop();
    }
  });
});
