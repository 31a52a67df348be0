import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { broadcastVoice, decodeVoice, serveUseCase } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { readVoice } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness, type Tenant } from '../../testing/platform-harness.ts';
import { SpeechProvider } from './speech-provider.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let ours: Tenant;
/** Files that media pods were asked to decode, and the devices that played them. */
const decoded: string[] = [];
const played: { imei: string; channel: number }[] = [];
const busyImei = '13900000077';

beforeAll(async () => {
  harness = await PlatformHarness.open();
  ({ ours } = harness);
  const options = {
    queue: 'test',
    onError: (error: unknown) => {
      throw error;
    },
  };
  serveUseCase(harness.bus, decodeVoice, options, async ({ voiceId }) => {
    decoded.push(String(await readVoice(harness.deps.redis, 'file', voiceId)));
    return { seconds: 2.5 };
  });
  serveUseCase(harness.bus, broadcastVoice, options, async ({ imei, channel }) => {
    if (imei === busyImei) throw new AppError('camera_busy', 'Somebody else talks to this device.');
    played.push({ imei, channel });
    return { seconds: 2.5 };
  });
  await harness.bus.flush();
});
afterAll(() => harness.close());

async function newVehicle(imei: string, more: object = {}, tenant = ours): Promise<number> {
  const body = { vehicle_no: `BC ${imei.slice(-4)}`, imei: imei.padStart(12, '0'), ...more };
  return (await harness.as(tenant.owner).post('/api/vehicles', body)).data.id;
}
const content = Buffer.from('an audio file').toString('base64');
const post = (body: object, user = ours.owner) => harness.as(user).post('/api/dashcam-broadcasts', body);

describe('a broadcast', () => {
  it('plays a file to vehicles, and returns which of them have not played it', async () => {
    const [first, busy] = [await newVehicle('13900000070'), await newVehicle(busyImei)];
    const { id: without } = (await harness.as(ours.owner).post('/api/vehicles', { vehicle_no: 'BC none' })).data;
    const { status, data } = await post({
      vehicle_ids: [first, busy, without],
      channel_id: 2,
      content_base64: content,
    });
    expect({ status, data }).toEqual({
      status: 200,
      data: {
        seconds: 2.5,
        vehicles: [
          { vehicle_id: first, is_played: true, error: null },
          {
            vehicle_id: busy,
            is_played: false,
            error: { code: 'camera_busy', message: 'Somebody else talks to this device.' },
          },
          {
            vehicle_id: without,
            is_played: false,
            error: { code: 'device_not_connected', message: `Vehicle ${without} has no terminal.` },
          },
        ],
      },
    });
    expect(decoded.at(-1)).toBe('an audio file');
    expect(played.at(-1)).toEqual({ imei: '13900000070', channel: 2 });
  });

  it('is not played by a disabled camera', async () => {
    const channels = [{ channel_id: 1, enabled: false }, { channel_id: 2 }];
    const vehicle = await newVehicle('13900000075', { channels });
    const error = { code: 'not_found', message: `Camera 1 of vehicle ${vehicle} is disabled.` };
    const { data } = await post({ vehicle_ids: [vehicle], content_base64: content });
    expect(data['vehicles']).toEqual([{ vehicle_id: vehicle, is_played: false, error }]);
    const other = await post({ vehicle_ids: [vehicle], channel_id: 2, content_base64: content });
    expect(other.data['vehicles']).toEqual([{ vehicle_id: vehicle, is_played: true, error: null }]);
  });

  it('plays to the vehicles of a group and of the groups below it', async () => {
    const client = harness.as(ours.owner);
    const { id: above } = (await client.post('/api/vehicle-groups', { name: 'Above' })).data;
    const { id: below } = (await client.post('/api/vehicle-groups', { name: 'Below', parent_group: above })).data;
    const vehicle = await newVehicle('13900000071', { group_ids: [below] });
    const { data } = await post({ group_id: above, content_base64: content });
    expect(data['vehicles']).toEqual([{ vehicle_id: vehicle, is_played: true, error: null }]);
    expect((await post({ group_id: 999_999, content_base64: content })).status).toBe(404);
  });

  it('is refused for vehicles of others, for viewers, and without exactly one audience and one voice', async () => {
    const vehicle = await newVehicle('13900000072');
    const theirs = await newVehicle('13900000073', {}, harness.theirs);
    const count = played.length;
    expect((await post({ vehicle_ids: [vehicle, theirs], content_base64: content })).status).toBe(404);
    const viewer = await harness.user('viewer');
    expect((await post({ vehicle_ids: [vehicle], content_base64: content }, viewer)).status).toBe(403);
    for (const body of [
      { content_base64: content },
      { vehicle_ids: [vehicle], group_id: 1, content_base64: content },
      { vehicle_ids: [vehicle] },
      { vehicle_ids: [vehicle], content_base64: content, text: 'Hello' },
      { vehicle_ids: [vehicle], content_base64: '' },
    ])
      expect((await post(body)).status).toBe(400);
    expect(played).toHaveLength(count);
  });

  it('needs a provider for text', async () => {
    const vehicle = await newVehicle('13900000074');
    const { status, body } = await post({ vehicle_ids: [vehicle], text: 'Return to the depot' });
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'provider_not_configured' } });
  });
});

describe('a text-to-speech provider', () => {
  let server: Server;
  const received: unknown[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      request.on('end', () => {
        received.push({ body: JSON.parse(text), authorization: request.headers.authorization });
        if (text.includes('broken')) response.writeHead(500).end();
        else response.end('speech');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('receives the text and returns an audio file; its failure is 502', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/speak`;
    const provider = new SpeechProvider({ TTS_URL: url, TTS_TOKEN: 'a-token', TTS_TIMEOUT_MS: 5_000 });
    expect(String(await provider.render({ text: 'Return to the depot', language: 'en-IN' }))).toBe('speech');
    expect(received).toEqual([
      { body: { text: 'Return to the depot', language: 'en-IN' }, authorization: 'Bearer a-token' },
    ]);
    await expect(provider.render({ text: 'broken', language: null })).rejects.toMatchObject({ code: 'upstream_error' });
  });
});
