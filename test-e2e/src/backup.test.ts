import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBody, multimediaData } from '@fleet/jt808';
import { runFfmpeg, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { selfSigned, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AlarmReceiver } from './testing/alarm-receiver.ts';
import { AlarmedVehicle, toReceipts } from './testing/alarmed-vehicle.ts';
import { Fleet } from './testing/fleet.ts';
import { type StartedHarness, startHarness } from './testing/harness.ts';
import { waitForLocations } from './testing/node-loss.ts';
import { findOpenStatus } from './testing/open-stream.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';
import { runBackup } from './testing/run-backup.ts';

jest.setTimeout(300_000);

const arriveMs = 120_000;
const defaultJt808Port = 7808;

let dir: string;
let receiver: AlarmReceiver;
let harness: StartedHarness;
let client: PlatformClient;
let vehicle: AlarmedVehicle;
/** What the account has before the backup. */
let before: Awaited<ReturnType<typeof readAccount>>;
let portOffset: number;

const settings = () => ({
  ...receiver.settings,
  RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
  RATE_LIMIT_PLATFORM_BURST: '100000',
  // The receiver is down until after the restore.
  WEBHOOK_RETRY_WAITS_MS: Array.from({ length: 20 }, () => '30000').join(','),
  WEBHOOK_BREAKER_OPEN_MS: '1000',
});

function sendPicture(terminal: SimulatedTerminal, data: Buffer): void {
  const location = terminal.createHandlerContext().vehicle.location();
  const body = { multimediaId: 1, type: 0, format: 0, eventCode: 0, channel: 1, location, data };
  terminal.send({ messageId: multimediaData.id, body: encodeBody(multimediaData, body, terminal.options.edition) });
}

async function readPicture(from: PlatformClient): Promise<Buffer> {
  const [media] = await from.listAll(`/vehicles/${vehicle.id}/list-dashcam-media`);
  const response = await fetch(String(media?.['url']));
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** Returns the records of the account without what differs between two addresses of the product. */
async function readAccount(from: PlatformClient) {
  const ids = async (path: string): Promise<unknown[]> => (await from.listAll(path)).map(({ id }) => id);
  const receipts = toReceipts(await vehicle.listNotifications(from));
  const media = (await from.listAll(`/vehicles/${vehicle.id}/list-dashcam-media`)).map(({ id }) => id);
  const hooks = await ids('/user-webhooks');
  return { vehicles: await ids('/vehicles'), groups: await ids('/vehicle-groups'), receipts, media, hooks };
}

const pendingDeliveries = async (from: PlatformClient): Promise<PlatformRecord[]> => {
  const [hook] = await from.listAll('/user-webhooks');
  const deliveries = await from.listAll(`/user-webhooks/${String(hook?.['id'])}/deliveries`);
  return deliveries.filter(({ status }) => status === 'pending');
};

async function fill(): Promise<Buffer> {
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=640x360', '-frames:v', '1', '-f', 'mjpeg', '-'];
  const sent = await runFfmpeg(harness.product.runtime.backends.ffmpeg, picture);
  await client.requestData('/user-webhooks', { url: receiver.url });
  await client.requestData('/vehicle-groups', { name: 'Backed up' });
  vehicle = await AlarmedVehicle.start(harness, client, 'backed up');
  sendPicture(vehicle.terminal, sent);
  for (let count = 0; count < 5; count += 1) await vehicle.report();
  await vehicle.raise(0);
  await vehicle.report();
  await waitForLocations(client, vehicle);
  const hasAll = async () => {
    const { receipts, media } = await readAccount(client);
    return receipts.length > 0 && media.length > 0 && (await pendingDeliveries(client)).length > 0;
  };
  await waitFor(hasAll, 'the alarm, the picture and a failed delivery', arriveMs);
  return sent;
}

let picture: Buffer;
let backup: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-backup-'));
  backup = join(dir, 'backup');
  receiver = await AlarmReceiver.start(selfSigned());
  receiver.status = 500;
  harness = await startHarness(settings(), join(dir, 'source'));
  portOffset = harness.product.runtime.jt808.port - defaultJt808Port;
  client = await PlatformClient.logIn(harness);
  picture = await fill();
  before = await readAccount(client);
});

afterAll(async () => {
  await harness?.stop();
  await receiver?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 120_000);

describe('a backup of the running product', () => {
  it('is written while terminals report, and a restore over the running product is refused', async () => {
    const dataDir = harness.product.dataDir;
    await Fleet.start(harness, 5);
    const { code, output } = await runBackup(['backup', '--to', backup, '--with-secrets'], { dataDir, portOffset });
    expect(output).toMatch(/MongoDB: \d+ documents .*\nJetStream: \d+ messages .*\nFiles: \d+, .*\nDone in/);
    expect(code).toBe(0);
    const refused = await runBackup(['restore', '--from', backup], { dataDir, portOffset });
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('The product is running') });
  });

  it('makes an empty installation equal: records, history, log-in, files and video', async () => {
    await harness.stop();
    const dataDir = join(dir, 'target');
    const restored = await runBackup(['restore', '--from', backup], { dataDir, portOffset });
    expect(restored).toMatchObject({ code: 0, output: expect.stringContaining('The checksums are correct') });
    expect(await runBackup(['restore', '--from', backup], { dataDir, portOffset })).toMatchObject({
      code: 1,
      output: expect.stringContaining('The installation is not empty (MongoDB has documents'),
    });
    harness = await startHarness(settings(), dataDir);
    client = await PlatformClient.logIn(harness);
    expect(await readAccount(client)).toEqual(before);
    await waitForLocations(client, vehicle);
    expect((await readPicture(client)).equals(picture)).toBe(true);
  });

  it('delivers the webhook event that was pending', async () => {
    const pending = await pendingDeliveries(client);
    expect(pending.length).toBeGreaterThan(0);
    receiver.delivered.length = 0;
    receiver.status = 200;
    await waitFor(async () => (await pendingDeliveries(client)).length === 0, 'the pending delivery', arriveMs);
    expect(receiver.delivered.length).toBeGreaterThanOrEqual(pending.length);
  });

  it('lets terminals connect, report and stream again', async () => {
    const { phone } = vehicle.terminal;
    const terminal = await harness.startTerminal({ phone });
    const report = terminal.report();
    await waitFor(() => report.acknowledgedAtMs !== null, 'the acknowledgement of a report', arriveMs);
    const start = await harness.get(`/realtime/start-stream?imei=${phone}&channel=1`);
    expect(start).toMatchObject({ status: 200, body: { result: 'success' } });
    const url = `${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?imei=${phone}&channel=1`;
    expect(await findOpenStatus('stream_url', url)).toBe(200);
  });
});
