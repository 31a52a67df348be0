import { createHash } from 'node:crypto';
import {
  type AlarmFile,
  runFfmpeg,
  type SafetyAlarm,
  type SafetyAlarmRecord,
  type SimulatedTerminal,
} from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness, type TerminalSetup, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';

// File transfers take some seconds, and the platform waits a minute before it requests missing files again.
jest.setTimeout(240_000);

const arriveMs = 120_000;

let harness: DedicatedHarness;
let client: PlatformClient;
let picture: Buffer;
let film: Buffer;

beforeAll(async () => {
  harness = await leaseHarness();
  client = await PlatformClient.logIn(harness);
  const { ffmpeg } = harness.product.runtime.backends;
  const noise = ['-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=15,noise=alls=40:allf=t'];
  const mp4 = ['-t', '3', '-c:v', 'libx264', '-b:v', '3M', '-movflags', 'frag_keyframe+empty_moov', '-f', 'mp4', '-'];
  picture = await runFfmpeg(ffmpeg, [...noise, '-frames:v', '1', '-q:v', '2', '-f', 'mjpeg', '-']);
  film = await runFfmpeg(ffmpeg, [...noise, ...mp4]);
}, 240_000);

afterAll(() => harness?.stop(), 90_000);

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

interface Driver {
  readonly id: number;
  readonly imei: string;
  readonly terminal: SimulatedTerminal;
}

async function driver(setup: TerminalSetup = {}): Promise<Driver> {
  const imei = setup.phone ?? uniquePhone();
  const { id } = await client.requestData('/vehicles', { vehicle_no: `A ${imei.slice(-12)}`, imei });
  return {
    id: Number(id),
    imei,
    terminal: await harness.startTerminal({ phone: imei, attachmentRetryMs: 500, ...setup }),
  };
}

/** A driver phoning, with a picture of the driver and a video of the road. */
function usePhone({ terminal }: Driver, more: Partial<SafetyAlarm> = {}): SafetyAlarmRecord {
  const files: AlarmFile[] = [
    { content: picture, type: 0, channel: 65 },
    { content: film, type: 2, channel: 1 },
  ];
  return terminal.raiseSafetyAlarm({ kind: 'dsm', type: 2, level: 2, files, ...more });
}

// Without the parameter the API lists today's notifications, and the day may end in the middle of a test.
const fromMs = Date.now() - 3_600_000;

/** Waits for the alarm's notification until `count` files are linked to it. */
const waitForLinked = ({ id }: Driver, type = 'dsm_phone', count = 2): Promise<PlatformRecord> =>
  waitFor(
    async () => {
      const path = `/notifications/vehicle-notifications/${id}?from=${fromMs}`;
      const list = (await client.request(path))['data'] as PlatformRecord[];
      return list.find(
        (each) => each['notification_type'] === type && (each['media'] as PlatformRecord[]).length === count,
      );
    },
    `${count} files of ${type}`,
    arriveMs,
  );

async function download({ media }: PlatformRecord): Promise<{ kind: unknown; type: string | null; hash: string }[]> {
  const files = (media as PlatformRecord[]).map(async ({ kind, url }) => {
    const response = await fetch(String(url));
    expect(response.status).toBe(200);
    const hash = sha256(Buffer.from(await response.arrayBuffer()));
    return { kind, type: response.headers.get('content-type'), hash };
  });
  return (await Promise.all(files)).toSorted((a, b) => String(a.kind).localeCompare(String(b.kind)));
}

const whole = () => [
  { kind: 'image', type: 'image/jpeg', hash: sha256(picture) },
  { kind: 'video', type: 'video/mp4', hash: sha256(film) },
];

/** Lists all files of the vehicle's alarms and asserts that each exists once. */
const listStored = async ({ id }: Driver): Promise<PlatformRecord[]> =>
  (await client.listAll(`/vehicles/${id}/list-dashcam-media`)).filter(({ source }) => source === 'alarm');

describe('the attachments of an alarm', () => {
  it('are requested, uploaded and can be opened from the notification', async () => {
    const car = await driver();
    const alarm = usePhone(car);
    const notification = await waitForLinked(car);
    expect(notification).toMatchObject({ imei: car.imei, severity: 'critical' });
    expect(await download(notification)).toEqual(whole());
    expect(alarm.uploads).toMatchObject([{ state: 'completed', attempts: 1, error: null }]);
    expect(alarm.uploads[0]?.server).toEqual(harness.product.runtime.attachments);
    const [first, second] = (await listStored(car)).toSorted(
      (a, b) => Number(a['channel_id']) - Number(b['channel_id']),
    );
    expect([first, second]).toMatchObject([
      { kind: 'video', channel_id: 1, size_bytes: film.length, notification_id: notification['id'] },
      { kind: 'image', channel_id: 65, size_bytes: picture.length, notification_id: notification['id'] },
    ]);
    const takenAt = Date.parse(`${alarm.report.time}+08:00`);
    expect(Math.abs(Date.parse(String(first?.['taken_at'])) - takenAt)).toBeLessThanOrEqual(2_000);
    expect(car.terminal.receivedFrames(0x9208)).toHaveLength(1);
  });

  it('are uploaded by a 2019 terminal with the long alarm tag of another province, and by one that skips protocol steps', async () => {
    const [long, odd] = await Promise.all([
      driver({ phone: uniquePhone(20) }),
      driver({ attachmentSkipsInfo: true, attachmentRepeatsComplete: true, attachmentOrder: 'reversed' }),
    ]);
    usePhone(long, { tagBytes: 40 });
    usePhone(odd, { kind: 'adas', type: 1 });
    expect(await download(await waitForLinked(long))).toEqual(whole());
    expect(await download(await waitForLinked(odd, 'adas_forward_collision'))).toEqual(whole());
  });

  it('are complete when chunks are lost and the connection breaks in the middle of a file', async () => {
    const car = await driver({
      attachmentLostChunks: [1, 3],
      attachmentFaults: [
        { how: 'reset', afterBytes: 200_000 },
        { how: 'finish', afterBytes: 150_000 },
      ],
    });
    const { uploads } = usePhone(car);
    expect(await download(await waitForLinked(car))).toEqual(whole());
    expect(uploads).toMatchObject([{ state: 'completed', attempts: 3 }]);
    expect(uploads[0]?.files.some(({ resends }) => resends > 0)).toBe(true);
    expect(await listStored(car)).toHaveLength(2);
  });

  it('are complete and stored once when upload-ftp is killed in the middle of a file', async () => {
    const car = await driver({ attachmentBytesPerSecond: 300_000, attachmentRetries: 100 });
    const { uploads } = usePhone(car);
    await waitFor(() => (uploads[0]?.files[1]?.sentBytes ?? 0) > film.length / 3, 'half of the video', arriveMs);
    const former = killProcess(harness, 'upload-ftp');
    await waitForRestart(harness, 'upload-ftp', former);
    const notification = await waitForLinked(car);
    expect(await download(notification)).toEqual(whole());
    expect(uploads[0]?.attempts).toBeGreaterThan(1);
    expect(await listStored(car)).toHaveLength(2);
  });

  it('are requested again after the terminal has given up', async () => {
    const car = await driver({ attachmentRetries: 0, attachmentFaults: [{ how: 'reset', afterBytes: 200_000 }] });
    const { uploads } = usePhone(car);
    await waitFor(() => uploads[0]?.state === 'failed', 'the terminal to give up', arriveMs);
    expect(await download(await waitForLinked(car))).toEqual(whole());
    expect(uploads).toMatchObject([{ state: 'failed' }, { state: 'completed' }]);
    expect(await listStored(car)).toHaveLength(2);
  });
});
