import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  cameraShoot,
  cameraShootResponse,
  decodeBody,
  driverReport,
  type Edition,
  extraDefinitions,
  locationReport,
  makeExtra,
  makeParameter,
  multimediaData,
  multimediaUploadResponse,
  parameterValue,
  passengerFlow,
  platformRetransmitRequest,
  queryDriver,
  queryParameters,
  queryParametersByIds,
  queryParametersResponse,
  queryResourceList,
  readExtra,
  resourceList,
  setParameters,
  terminalControl,
  trackControl,
  uplinkPassthrough,
  vehicleControl,
  vehicleControlResponse,
} from '@fleet/jt808';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { cameraClips } from './camera-clips.ts';
import { driverSignsOn, passengersCounted, peripheralData, pictureTaken } from './events.ts';
import { makeRecordings } from './recordings.ts';
import { SimulatedTerminal } from './terminal.ts';
import type { ClipProvider, TerminalOptions } from './terminal-options.ts';
import { TestPlatform } from './testing/test-platform.ts';
import { waitFor } from './testing/wait-for.ts';

jest.setTimeout(60_000);

const PHONE = '013800138001';
let cacheDir: string;
let clips: ClipProvider;
let platform: TestPlatform;
let terminal: SimulatedTerminal;

beforeAll(async () => {
  cacheDir = await mkdtemp(path.join(os.tmpdir(), 'clips-'));
  clips = cameraClips(PHONE, { cacheDir }, { main: { width: 160, height: 120, fps: 10, seconds: 1 } });
});

afterAll(() => rm(cacheDir, { recursive: true }));

afterEach(async () => {
  await terminal.stop();
  await platform.close();
});

async function online(edition: Edition = '2013', options: Partial<TerminalOptions> = {}): Promise<void> {
  platform = await new TestPlatform(edition).listen();
  terminal = new SimulatedTerminal({
    host: '127.0.0.1',
    port: platform.port,
    phone: PHONE,
    edition,
    clips,
    reportIntervalMs: 0,
    reconnect: { minMs: 10, maxMs: 50 },
    restartMs: 10,
    ...options,
  });
  terminal.start();
  await terminal.waitUntilOnline();
}

/** Whole message of an id, its parts joined. */
async function joined(messageId: number): Promise<Buffer> {
  const first = await platform.next(messageId);
  const total = first.subpackage?.total ?? 1;
  await waitFor('all parts', () => platform.of(messageId).length >= total);
  return Buffer.concat(platform.of(messageId).map((frame) => frame.body));
}

const everything = {
  channel: 0,
  startTime: null,
  endTime: null,
  alarmFlags: 0n,
  mediaType: 3,
  streamType: 0,
  storageType: 0,
};

describe('recordings (0x9205)', () => {
  it('lists thousands in parts, and repeats the parts that the platform asks for', async () => {
    const plan = { channels: [1, 2], count: 1000, seconds: 60, until: new Date(), bitrateKbps: 500 };
    await online('2013', { recordings: makeRecordings(plan) });
    const serial = platform.command(PHONE, queryResourceList, everything);
    const body = await joined(0x1205);
    const list = decodeBody(resourceList, body);
    expect(list.replySerial).toBe(serial);
    expect(list.total).toBe(2000);
    expect(list.items).toHaveLength(2000);
    const parts = platform.of(0x1205);
    expect(parts).toHaveLength(Math.ceil((6 + 28 * 2000) / 1023));
    const originalSerial = parts[0]?.serial ?? 0;
    platform.command(PHONE, platformRetransmitRequest, { originalSerial, packageIds: [2, 5] });
    await waitFor('repetition', () => platform.of(0x1205).length === parts.length + 2);
    expect(platform.of(0x1205).slice(parts.length)).toEqual([parts[1], parts[4]]);
  });

  it('answers an empty list with a total of 0', async () => {
    await online();
    platform.command(PHONE, queryResourceList, everything);
    expect((await platform.next(0x1205)).body).toHaveLength(6);
  });
});

describe('pictures (0x8801)', () => {
  const shoot = {
    channel: 1,
    command: 1,
    intervalS: 0,
    saveFlag: 0,
    resolution: 2,
    quality: 1,
    brightness: 100,
    contrast: 60,
    saturation: 60,
    chroma: 120,
  };

  it('announces the picture, sends it in parts, and repeats missing ones', async () => {
    await online();
    const serial = platform.command(PHONE, cameraShoot, shoot);
    const answer = decodeBody(cameraShootResponse, (await platform.next(0x0805)).body);
    expect(answer).toEqual({ replySerial: serial, result: 0, multimediaIds: [1] });
    const picture = decodeBody(multimediaData, await joined(0x0801));
    expect(picture).toMatchObject({ multimediaId: 1, type: 0, format: 0, eventCode: 0, channel: 1 });
    expect(picture.data.subarray(0, 2).toString('hex')).toBe('ffd8');
    expect(picture.data.subarray(-2).toString('hex')).toBe('ffd9');
    const before = platform.of(0x0801).length;
    platform.command(PHONE, multimediaUploadResponse, { multimediaId: 1, retransmitIds: [1] });
    await waitFor('repetition', () => platform.of(0x0801).length === before + 1);
    expect(platform.of(0x0801).at(-1)).toEqual(platform.of(0x0801)[0]);
  });

  it('says so when there is no such channel', async () => {
    await online();
    platform.command(PHONE, cameraShoot, { ...shoot, channel: 9 });
    expect((await platform.next(0x0805)).body[2]).toBe(2);
  });
});

describe('settings', () => {
  it('keeps what is set and obeys the report interval', async () => {
    await online();
    platform.command(PHONE, setParameters, { params: [makeParameter(0x0055, 77), makeParameter(0x0029, 1)] });
    await platform.next(0x0001);
    platform.command(PHONE, queryParametersByIds, { paramIds: [0x0055, 0x0fff] });
    const { params } = decodeBody(queryParametersResponse, (await platform.next(0x0104)).body);
    expect(params.map((item) => [item.id, parameterValue(item)])).toEqual([[0x0055, 77]]);
    await platform.next(0x0200);
  });

  it('lists all settings', async () => {
    await online();
    const serial = platform.command(PHONE, queryParameters, {});
    const answer = decodeBody(queryParametersResponse, await joined(0x0104));
    expect(answer.replySerial).toBe(serial);
    expect(answer.params.length).toBeGreaterThan(10);
    expect(answer.count).toBe(answer.params.length);
  });

  it('follows closely for a while (0x8202)', async () => {
    await online();
    platform.command(PHONE, trackControl, { intervalS: 1, validityS: 60 });
    await platform.next(0x0200);
    expect(terminal.reports).toHaveLength(1);
  });

  it('does not know power off in 2019', async () => {
    await online('2019', { phone: '00000000013800138003' });
    platform.command('00000000013800138003', terminalControl, { command: 3, parameters: '' });
    expect((await platform.next(0x0001)).body[4]).toBe(3);
    expect(platform.openConnections).toBe(1);
  });

  it('goes to another server and forgets nothing', async () => {
    const other = await new TestPlatform().listen();
    await online();
    platform.command(PHONE, terminalControl, { command: 2, parameters: `0;;;;;127.0.0.1;${other.port};;0` });
    await waitFor('the other server', () => other.of(0x0102).length === 1);
    expect(other.of(0x0100)).toEqual([]);
    await terminal.stop();
    await other.close();
  });
});

describe('vehicle and driver', () => {
  it.each<[Edition, object]>([
    ['2013', { controlFlags: 1 }],
    ['2019', { items: [{ id: 1, parameter: Buffer.from([0]) }] }],
  ])('locks the doors in the sense of edition %s', async (edition, body) => {
    await online(edition);
    const phone = edition === '2019' ? PHONE.padStart(20, '0') : PHONE;
    const serial = platform.command(phone, vehicleControl, body);
    const answer = decodeBody(vehicleControlResponse, (await platform.next(0x0500)).body, edition);
    expect(answer.replySerial).toBe(serial);
    expect(answer.status & (1 << 12)).not.toBe(0);
  });

  it('shows the driver', async () => {
    await online();
    platform.command(PHONE, queryDriver, {});
    const driver = decodeBody(driverReport, (await platform.next(0x0702)).body);
    expect(driver).toMatchObject({ status: 1, cardReadResult: 0, driverName: '张伟' });
  });
});

describe('events of its own', () => {
  it('tells them until they are acknowledged', async () => {
    await online();
    driverSignsOn(terminal);
    peripheralData(terminal, 0xf0, Buffer.from('abc'));
    passengersCounted(terminal, { boarding: 3, alighting: 2 });
    await pictureTaken(terminal, 1, 3);
    await platform.next(0x0702);
    expect(decodeBody(uplinkPassthrough, (await platform.next(0x0900)).body)).toMatchObject({ type: 0xf0 });
    expect(decodeBody(passengerFlow, (await platform.next(0x1005)).body)).toMatchObject({ boarding: 3, alighting: 2 });
    expect((await platform.next(0x0800)).body[6]).toBe(3);
    expect(decodeBody(multimediaData, await joined(0x0801))).toMatchObject({ eventCode: 3 });
  });

  it('carries a driver-assistance alarm in a report', async () => {
    await online();
    terminal.raiseAlarm(makeExtra(extraDefinitions.videoAlarm, { videoAlarm: 0b10 }));
    const { extras } = decodeBody(locationReport, (await platform.next(0x0200)).body);
    const alarm = extras.flatMap((extra) => readExtra(extraDefinitions.videoAlarm, extra) ?? []);
    expect(alarm).toEqual([{ videoAlarm: 0b10 }]);
  });
});
