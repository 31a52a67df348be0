import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { accessChanged, publish } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { captureAuditEvents } from '../testing/capture-audit-events.ts';
import { type FakeMediaPod, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { allRights, FakePlatform, type FakeUser, noRights } from '../testing/fake-platform.ts';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let platform: FakePlatform;
let pod: FakeMediaPod;
let service: Awaited<ReturnType<DeviceApiHarness['startService']>>;
let respond: (request: IncomingMessage, response: ServerResponse) => void;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  platform = await FakePlatform.start(harness.bus);
  pod = await startFakeMediaPod((request, response) => respond(request, response));
  service = await harness.startService({ DEVICE_API_AUTH: 'key', RATE_LIMIT_VIEWERS_PER_CHANNEL: '1' });
});
afterAll(async () => {
  await platform.stop();
  await pod.close();
  await harness.close();
});

async function watch(): Promise<{ imei: string; user: FakeUser; url: string }> {
  const imei = await harness.connectDevice(() => createOutcome(0x9101));
  await harness.connectStream(imei, 1, pod.url);
  const user = platform.newUser();
  user.rights.set(imei, allRights);
  const { body } = await service.video.get(`/${imei}/start`, { method: 'POST', headers: user.headers });
  return { imei, user, url: (body as { ws_flv_url: string }).ws_flv_url };
}

/** Returns the status of a refused handshake; undefined for an accepted or interrupted one. */
function refusalOf(url: string): Promise<number | undefined> {
  const client = new WebSocket(url);
  return new Promise((resolve) => {
    client.once('unexpected-response', (request, response) => {
      request.destroy();
      resolve(response.statusCode);
    });
    client.once('open', () => client.terminate());
    // A viewer that loses access during its handshake is disconnected without a response.
    client.on('error', () => undefined).once('close', () => resolve(undefined));
  });
}

const sendAndStay = (_request: IncomingMessage, response: ServerResponse): void => void response.write('FLV');

describe('FLV over a websocket', () => {
  it('is the stream in binary messages, and closes with it', async () => {
    const content = Buffer.alloc(1_000_000, 'video');
    respond = (_request, response) => void response.end(content);
    const client = new WebSocket((await watch()).url);
    const parts: Buffer[] = [];
    client.on('message', (data, isBinary) => {
      expect(isBinary).toBe(true);
      parts.push(data as Buffer);
    });
    expect((await once(client, 'close'))[0]).toBe(1000);
    expect(Buffer.concat(parts).equals(content)).toBe(true);
  });

  it('closes with 4429 if the data budget of the vehicle has ended the stream', async () => {
    respond = (_request, response) => {
      response.write('FLV');
      response.addTrailers({ 'x-stop-reason': 'data_budget_spent' });
      response.end();
    };
    const client = new WebSocket((await watch()).url);
    const [code, reason] = (await once(client, 'close')) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([4429, 'the data budget of the vehicle is spent']);
  });

  it('closes with 1011 if the stream breaks, and with 1012 if the service restarts', async () => {
    respond = (_request, response) => {
      response.write('FLV');
      setImmediate(() => response.destroy());
    };
    expect((await once(new WebSocket((await watch()).url), 'close'))[0]).toBe(1011);
    respond = sendAndStay;
    const { url } = await watch();
    const restarting = await harness.startService({ DEVICE_API_AUTH: 'key' });
    const client = new WebSocket(url.replace(new URL(url).host, new URL(restarting.video.base).host));
    await once(client, 'message');
    const closed = once(client, 'close');
    await restarting.stop();
    expect((await closed)[0]).toBe(1012);
  });

  it('is sent at the speed of the client', async () => {
    const chunk = Buffer.alloc(64 * 1024);
    let sentBytes = 0;
    respond = (_request, response) => {
      const send = (): void => {
        sentBytes += chunk.length;
        if (response.write(chunk)) setImmediate(send);
        else response.once('drain', send);
      };
      send();
    };
    const client = new WebSocket((await watch()).url);
    await once(client, 'open');
    client.pause();
    // It stops once the buffers of the connections are full.
    await waitFor(async () => {
      const before = sentBytes;
      await delay(500);
      return before === sentBytes && sentBytes > 0;
    }, 'a stop');
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024);
    client.terminate();
    await waitFor(() => pod.openResponses.size === 0);
  });

  it('refuses with the status of the handshake', async () => {
    respond = sendAndStay;
    const { url, imei, user } = await watch();
    expect(await refusalOf(url.replace(/\?.*/, ''))).toBe(401);
    expect(await refusalOf(`${url}x`)).toBe(401);
    expect(await refusalOf(url.replace('/1/', '/2/'))).toBe(403);
    const client = new WebSocket(url);
    await once(client, 'message');
    expect(await refusalOf(url)).toBe(429);
    client.close();
    user.rights.delete(imei);
    publish(harness.bus, accessChanged, { userId: user.caller.userId });
    await waitFor(async () => (await refusalOf(url)) === 404);
    respond = (_request, response) => void response.writeHead(500).end();
    expect(await refusalOf((await watch()).url)).toBe(502);
  });

  it('closes with 4403 when its viewer loses access, and is recorded as a view', async () => {
    const { events, ...capture } = captureAuditEvents(harness.bus);
    respond = sendAndStay;
    const { url, imei, user } = await watch();
    const client = new WebSocket(url);
    await once(client, 'message');
    user.rights.set(imei, noRights);
    publish(harness.bus, accessChanged, { userId: user.caller.userId });
    expect((await once(client, 'close'))[0]).toBe(4403);
    await waitFor(() => events.some(({ kind }) => kind === 'view'));
    expect(events.filter(({ kind }) => kind === 'view')).toMatchObject([{ imei, seconds: expect.any(Number) }]);
    capture.stop();
  });

  it('counts as a viewer of the channel, like FLV over HTTP and HLS', async () => {
    respond = sendAndStay;
    const { url } = await watch();
    const client = new WebSocket(url);
    await once(client, 'message');
    const flvUrl = url.replace(/^ws/, 'http');
    for (const other of [flvUrl, flvUrl.replace('stream.flv', 'index.m3u8')]) {
      const refused = await fetch(other);
      expect({ status: refused.status, body: await refused.json() }).toMatchObject({
        status: 429,
        body: { error: 'The channel has 1 viewers already.' },
      });
    }
    client.close();
    await waitFor(async () => {
      const opened = await fetch(flvUrl);
      await opened.body?.cancel();
      return opened.status === 200;
    });
  });
});
