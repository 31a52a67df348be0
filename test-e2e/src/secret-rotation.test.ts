import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { encodeBody, multimediaData } from '@fleet/jt808';
import { runFfmpeg, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { selfSigned, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AlarmReceiver } from './testing/alarm-receiver.ts';
import { getJson, type StartedHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { findOpenStatus } from './testing/open-stream.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';

jest.setTimeout(300_000);

const registration = 0x0100;
/** Secrets of the data folder that the test replaces. */
const rotated = ['gatewayAuthSecret', 'mediaSigningSecret', 'clipsSigningSecret', 'streamTokenSecret', 'encryptionKey'];

/** What the product has issued: credentials, signed URLs and the code of a terminal. */
interface Issued {
  readonly headers: Readonly<Record<string, string>>;
  readonly filePath: string;
  readonly streamPath: string;
  readonly authCode: string;
}

let dir: string;
let dataDir: string;
let receiver: AlarmReceiver;
let harness: StartedHarness;
let terminal: SimulatedTerminal;
let vehicleId: number;
const imei = uniquePhone();

const readSecrets = (): Record<string, string> =>
  JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8')) as Record<string, string>;

/** Restarts the product with other secrets. Its ports change, so only paths can be compared. */
async function restartWith(change: (name: string, secret: string) => string): Promise<void> {
  await harness.stop();
  const secrets = readSecrets();
  for (const name of rotated) secrets[name] = change(name, secrets[name] ?? '');
  writeFileSync(join(dataDir, 'secrets.json'), JSON.stringify(secrets));
  harness = await startHarness(receiver.settings, dataDir);
}

const toPath = (url: unknown): string => {
  const { pathname, search } = new URL(String(url));
  return `${pathname}${search}`;
};

async function readIssued(client: PlatformClient): Promise<Issued> {
  const list = async () => (await client.listAll(`/vehicles/${vehicleId}/list-dashcam-media`))[0];
  const media = await waitFor(list, 'the picture', 120_000);
  const stream = await client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, { wake: false });
  return {
    headers: client.headers,
    filePath: toPath(media['url']),
    streamPath: toPath(stream['stream_url']),
    authCode: terminal.authCode ?? '',
  };
}

async function sendPicture(): Promise<void> {
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180', '-frames:v', '1', '-f', 'mjpeg', '-'];
  const data = await runFfmpeg(harness.product.runtime.backends.ffmpeg, picture);
  const location = terminal.createHandlerContext().vehicle.location();
  const body = { multimediaId: 1, type: 0, format: 0, eventCode: 0, channel: 1, location, data };
  terminal.send({ messageId: multimediaData.id, body: encodeBody(multimediaData, body, terminal.options.edition) });
}

/** Uses everything that was issued before a restart; returns the statuses. */
async function useIssued({ headers, filePath, streamPath, authCode }: Issued) {
  const { base_url: base, video_url: video } = harness.product.runtime;
  const session = await getJson(`${base}/api/auth/me`, { headers });
  const file = await fetch(`${base}${filePath}`);
  await file.arrayBuffer();
  terminal = await harness.startTerminal({ phone: imei, authCode });
  const body = JSON.stringify({ wake: false });
  const start = await getJson(`${base}/api/vehicles/start-dashcam-stream/${vehicleId}`, {
    method: 'POST',
    headers,
    body,
  });
  expect(start).toMatchObject({ status: 200 });
  return {
    session: session.status,
    file: file.status,
    stream: await findOpenStatus('stream_url', `${video}${streamPath}`),
    registrations: terminal.sentFrames(registration).length,
  };
}

/** Delivers a test to the webhook, whose secret is stored encrypted. */
async function testWebhook(client: PlatformClient): Promise<unknown> {
  const [hook] = await client.listAll('/user-webhooks');
  receiver.delivered.length = 0;
  const attempt = await client.requestData(`/user-webhooks/${String(hook?.['id'])}/test`, {});
  return [attempt['status_code'], receiver.delivered[0]?.secret];
}

/** Runs the tool of platform-api on the database of the product. */
async function reencrypt(): Promise<string> {
  const { mongodb_url: url } = harness.product.runtime.backends;
  const env = { ...process.env, MONGODB_URL: url, ENCRYPTION_KEY: readSecrets()['encryptionKey'] };
  const { stdout } = await promisify(execFile)(process.execPath, [resolve('services/platform-api/dist/reencrypt.js')], {
    env,
  });
  return stdout;
}

let issued: Issued;
let hook: PlatformRecord;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-rotation-'));
  dataDir = join(dir, 'data');
  receiver = await AlarmReceiver.start(selfSigned());
  harness = await startHarness(receiver.settings, dataDir);
  const client = await PlatformClient.logIn(harness);
  hook = await client.requestData('/user-webhooks', { url: receiver.url });
  vehicleId = Number((await client.requestData('/vehicles', { vehicle_no: 'rotated', imei }))['id']);
  terminal = await harness.startTerminal({ phone: imei });
  await sendPicture();
  issued = await readIssued(client);
});

afterAll(async () => {
  await harness?.stop();
  await receiver?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 120_000);

describe('the rotation of all secrets', () => {
  const works = { session: 200, file: 200, stream: 200, registrations: 0 };

  it('keeps sessions, signed URLs, streams, terminals and webhooks valid while both secrets are set', async () => {
    await restartWith((name, former) => `${name} that replaces the former secret,${former}`);
    expect(await useIssued(issued)).toEqual(works);
    const client = await PlatformClient.logIn(harness);
    expect(await testWebhook(client)).toEqual([200, hook['secret']]);
    issued = await readIssued(client);
  });

  it('works with the next secrets alone, once stored secrets are encrypted with the next key', async () => {
    expect(await reencrypt()).toMatch(/^[1-9]\d* secrets were encrypted with the first key/);
    await restartWith((_name, both) => both.split(',')[0] ?? '');
    // The terminal still has a code of the former secret: it registers again and continues.
    expect(await useIssued(issued)).toEqual({ ...works, registrations: 1 });
    expect(await testWebhook(await PlatformClient.logIn(harness))).toEqual([200, hook['secret']]);
  });
});
