import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  additionalItemDefinitions,
  cameraShoot,
  cameraShootResponse,
  createAdditionalItem,
  createParameter,
  decodeBody,
  driverReport,
  type Edition,
  locationReport,
  multimediaData,
  multimediaUploadResponse,
  passengerFlow,
  platformRetransmitRequest,
  queryDriver,
  queryParameters,
  queryParametersByIds,
  queryParametersResponse,
  queryResourceList,
  readAdditionalItem,
  readParameterValue,
  resourceList,
  setParameters,
  terminalControl,
  trackControl,
  uplinkPassthrough,
  vehicleControl,
  vehicleControlResponse,
} from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createCameraClips } from './camera-clips.ts';
import { createRecordings } from './recordings.ts';
import { sendDriverCard, sendPassengerFlow, sendPassthrough, sendPicture } from './send-events.ts';
import { SimulatedTerminal } from './terminal.ts';
import type { ClipProvider, TerminalOptions } from './terminal-options.ts';
import { TestPlatform } from './testing/test-platform.ts';

jest.setTimeout(60_000);

const terminalPhone = '013800138001';
let cacheDir: string;
let clips: ClipProvider;
let platform: TestPlatform;
let terminal: SimulatedTerminal;

beforeAll(async () => {
  cacheDir = await mkdtemp(path.join(os.tmpdir(), 'clips-'));
  clips = createCameraClips(terminalPhone, { cacheDir }, { main: { width: 160, height: 120, fps: 10, seconds: 1 } });
});

afterAll(() => rm(cacheDir, { recursive: true }));

afterEach(async () => {
  await terminal.stop();
  await platform.close();
});

async function startOnline(edition: Edition = '2013', options: Partial<TerminalOptions> = {}): Promise<void> {
  platform = await new TestPlatform(edition).listen();
  terminal = new SimulatedTerminal({
    host: '127.0.0.1',
    port: platform.port,
    phone: terminalPhone,
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

/** Returns the whole message of an id, with its parts joined. */
async function reassembleParts(messageId: number): Promise<Buffer> {
  const first = await platform.waitForFrame(messageId);
  const total = first.subpackage?.total ?? 1;
  await waitFor(() => platform.framesWithId(messageId).length >= total, 'all parts');
  return Buffer.concat(platform.framesWithId(messageId).map((frame) => frame.body));
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
  it('lists thousands of recordings in parts, and resends the parts that the platform requests', async () => {
    const plan = { channels: [1, 2], count: 1000, seconds: 60, until: new Date(), bitrateKbps: 500 };
    await startOnline('2013', { recordings: createRecordings(plan) });
    const serial = platform.sendCommand(terminalPhone, queryResourceList, everything);
    const body = await reassembleParts(0x1205);
    const list = decodeBody(resourceList, body);
    expect(list.replySerial).toBe(serial);
    expect(list.total).toBe(2000);
    expect(list.items).toHaveLength(2000);
    const parts = platform.framesWithId(0x1205);
    expect(parts).toHaveLength(Math.ceil((6 + 28 * 2000) / 1023));
    const originalSerial = parts[0]?.serial ?? 0;
    platform.sendCommand(terminalPhone, platformRetransmitRequest, { originalSerial, packageIds: [2, 5] });
    await waitFor(() => platform.framesWithId(0x1205).length === parts.length + 2, 'repetition');
    expect(platform.framesWithId(0x1205).slice(parts.length)).toEqual([parts[1], parts[4]]);
  });

  it('responds with an empty list and a total of 0', async () => {
    await startOnline();
    platform.sendCommand(terminalPhone, queryResourceList, everything);
    expect((await platform.waitForFrame(0x1205)).body).toHaveLength(6);
  });
});

describe('pictures (0x8801)', () => {
  const cameraCommand = {
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

  it("responds with the picture's id, sends the picture in parts, and resends missing parts", async () => {
    await startOnline();
    const serial = platform.sendCommand(terminalPhone, cameraShoot, cameraCommand);
    const response = decodeBody(cameraShootResponse, (await platform.waitForFrame(0x0805)).body);
    expect(response).toEqual({ replySerial: serial, result: 0, multimediaIds: [1] });
    const picture = decodeBody(multimediaData, await reassembleParts(0x0801));
    expect(picture).toMatchObject({ multimediaId: 1, type: 0, format: 0, eventCode: 0, channel: 1 });
    expect(picture.data.subarray(0, 2).toString('hex')).toBe('ffd8');
    expect(picture.data.subarray(-2).toString('hex')).toBe('ffd9');
    const before = platform.framesWithId(0x0801).length;
    platform.sendCommand(terminalPhone, multimediaUploadResponse, { multimediaId: 1, retransmitIds: [1] });
    await waitFor(() => platform.framesWithId(0x0801).length === before + 1, 'repetition');
    expect(platform.framesWithId(0x0801).at(-1)).toEqual(platform.framesWithId(0x0801)[0]);
  });

  it('responds with result 2 for an unknown channel', async () => {
    await startOnline();
    platform.sendCommand(terminalPhone, cameraShoot, { ...cameraCommand, channel: 9 });
    expect((await platform.waitForFrame(0x0805)).body[2]).toBe(2);
  });
});

describe('settings', () => {
  it('stores parameters and applies the report interval', async () => {
    await startOnline();
    platform.sendCommand(terminalPhone, setParameters, {
      params: [createParameter(0x0055, 77), createParameter(0x0029, 1)],
    });
    await platform.waitForFrame(0x0001);
    platform.sendCommand(terminalPhone, queryParametersByIds, { paramIds: [0x0055, 0x0fff] });
    const { params } = decodeBody(queryParametersResponse, (await platform.waitForFrame(0x0104)).body);
    expect(params.map((item) => [item.id, readParameterValue(item)])).toEqual([[0x0055, 77]]);
    await platform.waitForFrame(0x0200);
  });

  it('lists all parameters', async () => {
    await startOnline();
    const serial = platform.sendCommand(terminalPhone, queryParameters, {});
    const response = decodeBody(queryParametersResponse, await reassembleParts(0x0104));
    expect(response.replySerial).toBe(serial);
    expect(response.params.length).toBeGreaterThan(10);
    expect(response.count).toBe(response.params.length);
  });

  it('reports at the tracking interval for a limited time (0x8202)', async () => {
    await startOnline();
    platform.sendCommand(terminalPhone, trackControl, { intervalS: 1, validityS: 60 });
    await platform.waitForFrame(0x0200);
    expect(terminal.reports).toHaveLength(1);
  });

  it('rejects power off in 2019 as unsupported', async () => {
    await startOnline('2019', { phone: '00000000013800138003' });
    platform.sendCommand('00000000013800138003', terminalControl, { command: 3, parameters: '' });
    expect((await platform.waitForFrame(0x0001)).body[4]).toBe(3);
    expect(platform.openConnections).toBe(1);
  });

  it('connects to another server and retains its registration', async () => {
    const other = await new TestPlatform().listen();
    await startOnline();
    platform.sendCommand(terminalPhone, terminalControl, {
      command: 2,
      parameters: `0;;;;;127.0.0.1;${other.port};;0`,
    });
    await waitFor(() => other.framesWithId(0x0102).length === 1, 'the other server');
    expect(other.framesWithId(0x0100)).toEqual([]);
    await terminal.stop();
    await other.close();
  });
});

describe('vehicle and driver', () => {
  it.each<[Edition, object]>([
    ['2013', { controlFlags: 1 }],
    ['2019', { items: [{ id: 1, parameter: Buffer.from([0]) }] }],
  ])('locks the doors with the value of edition %s', async (edition, body) => {
    await startOnline(edition);
    const phone = edition === '2019' ? terminalPhone.padStart(20, '0') : terminalPhone;
    const serial = platform.sendCommand(phone, vehicleControl, body);
    const response = decodeBody(vehicleControlResponse, (await platform.waitForFrame(0x0500)).body, edition);
    expect(response.replySerial).toBe(serial);
    expect(response.status & (1 << 12)).not.toBe(0);
  });

  it('responds with the driver', async () => {
    await startOnline();
    platform.sendCommand(terminalPhone, queryDriver, {});
    const driver = decodeBody(driverReport, (await platform.waitForFrame(0x0702)).body);
    expect(driver).toMatchObject({ status: 1, cardReadResult: 0, driverName: '张伟' });
  });
});

describe('unsolicited messages', () => {
  it('sends events of driver, peripheral, passengers and pictures', async () => {
    await startOnline();
    sendDriverCard(terminal);
    sendPassthrough(terminal, 0xf0, Buffer.from('abc'));
    sendPassengerFlow(terminal, { boarding: 3, alighting: 2 });
    await sendPicture(terminal, 1, 3);
    await platform.waitForFrame(0x0702);
    expect(decodeBody(uplinkPassthrough, (await platform.waitForFrame(0x0900)).body)).toMatchObject({ type: 0xf0 });
    expect(decodeBody(passengerFlow, (await platform.waitForFrame(0x1005)).body)).toMatchObject({
      boarding: 3,
      alighting: 2,
    });
    expect((await platform.waitForFrame(0x0800)).body[6]).toBe(3);
    expect(decodeBody(multimediaData, await reassembleParts(0x0801))).toMatchObject({ eventCode: 3 });
  });

  it('reports a video alarm item', async () => {
    await startOnline();
    terminal.raiseAlarm(createAdditionalItem(additionalItemDefinitions.videoAlarm, { videoAlarm: 0b10 }));
    const { extras } = decodeBody(locationReport, (await platform.waitForFrame(0x0200)).body);
    const alarm = extras.flatMap((extra) => readAdditionalItem(additionalItemDefinitions.videoAlarm, extra) ?? []);
    expect(alarm).toEqual([{ videoAlarm: 0b10 }]);
  });
});
