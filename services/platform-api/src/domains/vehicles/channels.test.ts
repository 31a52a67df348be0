import { randomInt } from 'node:crypto';
import { deviceCommandSubject } from '@fleet/bus';
import { avAttributesResponse, encodeBody } from '@fleet/jt808';
import { claimDevice, deregisterGateway, heartbeatGateway, releaseDevice } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());

const attributes = encodeBody(
  avAttributesResponse,
  {
    audioCodec: 6,
    audioChannels: 1,
    audioSampleRate: 0,
    audioBitDepth: 1,
    audioFrameLength: 160,
    audioOutput: 1,
    videoCodec: 98,
    maxAudioChannels: 1,
    maxVideoChannels: 2,
  },
  '2013',
);
const outcome = {
  kind: 'answered',
  answer: {
    commandMessageId: 0x9003,
    commandSerialNo: 1,
    result: null,
    message: { id: 0x1003, edition: '2013', bodyBase64: Buffer.from(attributes).toString('base64') },
  },
};
const response = [
  { channel_id: 1, name: 'Channel 1', enabled: true, has_audio: true },
  { channel_id: 2, name: 'Channel 2', enabled: true, has_audio: false },
];

/** Connects a terminal whose gateway sends the same response to every command while `work` runs. */
async function withTerminal(
  imei: string,
  outcome: unknown,
  work: (requested: string[]) => Promise<void>,
  beforeResponse = async (): Promise<void> => undefined,
): Promise<void> {
  const { redis } = harness.deps;
  const podId = `pod-${imei}`;
  const state = { sessionId: podId, podId, phone: `0${imei}`, edition: '2013' as const, remoteAddress: '127.0.0.1:1' };
  await heartbeatGateway(redis, podId);
  await claimDevice(redis, imei, { ...state, onlineSinceMs: Date.now(), lastSeenMs: Date.now() });
  const requested: string[] = [];
  const gateway = harness.bus.nc.subscribe(deviceCommandSubject(imei), {
    callback: (_error, message) => {
      requested.push(message.string());
      void beforeResponse().then(() => message.respond(JSON.stringify(outcome)));
    },
  });
  try {
    await harness.bus.nc.flush();
    await work(requested);
  } finally {
    gateway.unsubscribe();
    await releaseDevice(redis, imei, podId);
    await deregisterGateway(redis, podId);
  }
}
const newImei = (): string => String(randomInt(10 ** 10, 10 ** 11 - 1));
const create = async (vehicleNo: string, imei: string) =>
  (await owner.post('/api/vehicles', { vehicle_no: vehicleNo, imei: `0${imei}` })).data;

describe('channels of a vehicle', () => {
  it('requests the channels of a connected terminal once, when the vehicle is created (0x9003)', async () => {
    const imei = newImei();
    await withTerminal(imei, outcome, async (requested) => {
      const vehicle = await create('CH1', imei);
      expect(vehicle['channels']).toEqual(response);
      expect((await owner.get(`/api/vehicles/${vehicle.id}`)).data['channels']).toEqual(response);
      expect(requested.map((text) => JSON.parse(text) as unknown)).toEqual([{ kind: 'queryAvAttributes' }]);
    });
  });

  it('requests the channels when a terminal has connected later, and does not change recorded ones', async () => {
    const imei = newImei();
    const vehicle = await create('CH2', imei);
    expect(vehicle['channels']).toEqual([]);
    await withTerminal(imei, outcome, async () => {
      expect((await owner.get(`/api/vehicles/${vehicle.id}`)).data['channels']).toEqual(response);
      const own = await owner.put(`/api/vehicles/${vehicle.id}`, { channels: [{ channel_id: 5 }] });
      expect((await owner.get(`/api/vehicles/${vehicle.id}`)).data['channels']).toEqual(own.data['channels']);
    });
  });

  it('stores the channels that a user sets while the terminal is queried', async () => {
    const imei = newImei();
    const vehicle = await create('CH3', imei);
    const path = `/api/vehicles/${vehicle.id}`;
    let named: unknown;
    const changeConcurrently = async (): Promise<void> => {
      named = (await owner.put(path, { channels: [{ channel_id: 5 }] })).data['channels'];
    };
    await withTerminal(
      imei,
      outcome,
      async () => {
        expect((await owner.get(path)).data['channels']).toMatchObject([{ channel_id: 5 }]);
        expect((await owner.get(path)).data['channels']).toEqual(named);
      },
      changeConcurrently,
    );
  });

  it.each([
    ['does not know the command', { ...outcome, answer: { ...outcome.answer, result: 3, message: null } }],
    ['is silent', { kind: 'timedOut' }],
    ['returns nonsense', { kind: 'nonsense' }],
  ])('leaves the channels empty when the terminal %s', async (name, outcome) => {
    const imei = newImei();
    await withTerminal(imei, outcome, async () => {
      expect((await create(`E ${name}`.slice(0, 20), imei))['channels']).toEqual([]);
    });
  });
});
