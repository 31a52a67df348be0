import { createHash } from 'node:crypto';
import { encodeBody, multimediaData } from '@fleet/jt808';
import { runFfmpeg, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';

// Pictures are sent in many parts, and services are killed at the same time.
jest.setTimeout(240_000);

const arriveMs = 120_000;

let harness: DedicatedHarness;
let client: PlatformClient;
let picture: Buffer;
let taken = 0;

beforeAll(async () => {
  harness = await leaseHarness();
  client = await PlatformClient.logIn(harness);
  const { ffmpeg } = harness.product.runtime.backends;
  const frame = [
    '-f',
    'lavfi',
    '-i',
    'testsrc2=size=640x360,noise=alls=40:allf=t',
    '-frames:v',
    '1',
    '-f',
    'mjpeg',
    '-',
  ];
  picture = await runFfmpeg(ffmpeg, frame);
}, 240_000);

afterAll(() => harness?.stop(), 90_000);

interface Driver {
  readonly id: number;
  readonly imei: string;
  readonly terminal: SimulatedTerminal;
}

async function driver(): Promise<Driver> {
  const imei = uniquePhone();
  const { id } = await client.requestData('/vehicles', { vehicle_no: `M ${imei.slice(-12)}`, imei });
  return { id: Number(id), imei, terminal: await harness.startTerminal({ phone: imei }) };
}

/** Sends another picture of a channel by 0x0801 and returns its bytes. */
function sendPicture({ terminal }: Driver, channel = 1): Buffer {
  taken += 1;
  // Every picture is unique: decoders ignore bytes after the end of a JPEG.
  const data = Buffer.concat([picture, Buffer.from(`picture ${taken}`)]);
  const body = {
    multimediaId: taken,
    type: 0,
    format: 0,
    eventCode: 0,
    channel,
    location: terminal.createHandlerContext().vehicle.location(),
    data,
  };
  const { edition } = terminal.options;
  terminal.send({ messageId: multimediaData.id, body: encodeBody(multimediaData, body, edition) });
  return data;
}

const listMedia = ({ id }: Driver): Promise<PlatformRecord[]> => client.listAll(`/vehicles/${id}/list-dashcam-media`);
const listCaptures = ({ id }: Driver): Promise<PlatformRecord[]> =>
  client.listAll(`/notifications?vehicle_id=${id}&type=media_captured`);

/** Waits until a vehicle has `count` files and returns them. */
const waitForMedia = (of: Driver, count: number): Promise<PlatformRecord[]> =>
  waitFor(
    async () => {
      const media = await listMedia(of).catch(() => []);
      return media.length >= count && media;
    },
    `${count} pictures`,
    arriveMs,
  );

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function readBytes(media: PlatformRecord): Promise<Buffer> {
  const response = await fetch(String(media['url']));
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return Buffer.from(await response.arrayBuffer());
}

describe('a picture that a terminal sends', () => {
  it('is listed with its vehicle and its notification, and opens by its URL', async () => {
    const car = await driver();
    const sent = sendPicture(car, 2);
    const [media] = await waitForMedia(car, 1);
    if (media === undefined) throw new Error('no picture exists');
    expect(media).toMatchObject({
      vehicle_id: car.id,
      imei: car.imei,
      channel_id: 2,
      kind: 'image',
      source: 'capture',
      mime_type: 'image/jpeg',
      size_bytes: sent.length,
    });
    expect(sha256(await readBytes(media))).toBe(sha256(sent));
    const url = String(media['url']);
    expect(url.startsWith(harness.product.runtime.base_url)).toBe(true);
    const part = await fetch(url, { headers: { range: 'bytes=10-19' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${sent.length}`]);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(sent.subarray(10, 20));
    const head = await fetch(`${url}&download=1`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), head.headers.get('content-length')]).toEqual([
      200,
      'image/jpeg',
      String(sent.length),
    ]);
    expect(head.headers.get('content-disposition')).toMatch(/^attachment; filename="image-.*\.jpg"$/);
    const [captured] = await waitFor(async () => {
      const found = await listCaptures(car);
      return (found[0]?.['media'] as unknown[] | undefined)?.length === 1 && found;
    }, 'the notification to contain it');
    expect(captured?.['id']).toBe((await listMedia(car))[0]?.['notification_id']);
    const [file] = (captured?.['media'] ?? []) as PlatformRecord[];
    expect(sha256(await readBytes(file ?? {}))).toBe(sha256(sent));
  });

  it('is not accessible to other accounts, and its URL opens no other file', async () => {
    const car = await driver();
    sendPicture(car);
    const [media] = await waitForMedia(car, 1);
    const { base_url: base } = harness.product.runtime;
    const json = { 'content-type': 'application/json' };
    const email = `other-${car.imei}@fleet.example`;
    const body = JSON.stringify({ name: 'Other', email, password: 'correct horse battery', account_name: 'Other' });
    const registered = await fetch(`${base}/api/auth/register`, { method: 'POST', headers: json, body });
    const { data: tokens } = (await registered.json()) as { data: { access_token: string } };
    const bearer = { ...json, authorization: `Bearer ${tokens.access_token}` };
    const keyBody = JSON.stringify({ name: 'other' });
    const key = await fetch(`${base}/api/api-keys`, { method: 'POST', headers: bearer, body: keyBody });
    const { data } = (await key.json()) as { data: { key: string } };
    const headers = { ...bearer, 'x-api-key': data.key };
    const fetchStatus = async (method: string, path: string, more = {}): Promise<number> =>
      (await fetch(`${base}/api${path}`, { method, headers, ...more })).status;
    const one = `/dashcam-media/${String(media?.['id'])}`;
    expect(await fetchStatus('GET', `/vehicles/${car.id}/list-dashcam-media`)).toBe(404);
    expect(await fetchStatus('PUT', one, { body: JSON.stringify({ protected: true }) })).toBe(404);
    expect(await fetchStatus('DELETE', one)).toBe(404);
    // Only the signature counts, not the credentials of the request.
    expect(await fetchStatus('GET', `${one}/file`)).toBe(401);
    const changed = (name: string, change: (value: string) => string): string => {
      const url = new URL(String(media?.['url']));
      url.searchParams.set(name, change(url.searchParams.get(name) ?? ''));
      return url.href;
    };
    for (const url of [
      changed('signature', (value) => value.replace(/.$/, (last) => (last === '0' ? '1' : '0'))),
      changed('expires', (value) => String(Number(value) + 3600)),
      changed('expires', () => '1700000000'),
      changed('user', (value) => String(Number(value) + 1)),
    ])
      expect([url, (await fetch(url)).status]).toEqual([url, 403]);
  });

  it('can be deleted permanently', async () => {
    const car = await driver();
    sendPicture(car);
    const [media] = await waitForMedia(car, 1);
    const { base_url: base, demo } = harness.product.runtime;
    const login = { identifier: demo.email, password: demo.password };
    const { access_token: token } = await client.requestData('/auth/login', login);
    const headers = { 'x-api-key': demo.api_key, authorization: `Bearer ${String(token)}` };
    const removed = await fetch(`${base}/api/dashcam-media/${String(media?.['id'])}`, { method: 'DELETE', headers });
    expect(removed.status).toBe(200);
    expect(await listMedia(car)).toEqual([]);
    expect((await fetch(String(media?.['url']))).status).toBe(404);
  });
});

describe('pictures during service restarts', () => {
  it.each(['upload-ftp', 'platform-telemetry', 'platform-api'])(
    'exist once each although %s is killed',
    async (service) => {
      const car = await driver();
      const sent = [sendPicture(car), sendPicture(car)];
      const former = killProcess(harness, service);
      sent.push(sendPicture(car));
      await waitForRestart(harness, service, former);
      sent.push(sendPicture(car));
      const media = await waitForMedia(car, sent.length);
      await waitFor(
        async () => {
          const found = await Promise.all((await listMedia(car)).map((each) => readBytes(each).catch(() => null)));
          return found.every((bytes) => bytes !== null);
        },
        'every file to exist',
        arriveMs,
      );
      const hashes = await Promise.all((await listMedia(car)).map(async (each) => sha256(await readBytes(each))));
      expect(hashes.toSorted()).toEqual(sent.map(sha256).toSorted());
      expect(media).toHaveLength(sent.length);
      const captures = await waitFor(
        async () => {
          const found = await listCaptures(car);
          return (
            found.every((each) => (each['media'] as unknown[]).length === 1) && found.length >= sent.length && found
          );
        },
        'a notification for each',
        arriveMs,
      );
      expect(captures).toHaveLength(sent.length);
    },
  );
});
