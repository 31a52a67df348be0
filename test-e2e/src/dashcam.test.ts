import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dashcams } from './testing/dashcams.ts';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { findError, type PlatformClient } from './testing/platform-client.ts';

jest.setTimeout(120_000);

let harness: ProductHarness;
let client: PlatformClient;
let dashcams: Dashcams;
beforeAll(async () => {
  harness = await joinSharedHarness();
  dashcams = await Dashcams.open(harness);
  client = dashcams.client;
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

/** Opens a stream and reads its first bytes. `close` disconnects. */
async function openPlayer(url: string): Promise<{ close(): Promise<void> }> {
  const reader = (await fetch(url)).body?.getReader();
  await reader?.read();
  return { close: async () => reader?.cancel() };
}

describe('live video through the Platform API', () => {
  it('starts, is described, and stops', async () => {
    const { vehicleId, imei } = await dashcams.create();
    const streamPath = `/vehicles/${vehicleId}/v2/get-dashcam-stream?channelId=1`;
    expect(await findError(client.request(`${streamPath}&autoStart=false`))).toBe('404 not_streaming');
    const started = await client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, {});
    expect(started).toMatchObject({
      vehicle_id: vehicleId,
      imei,
      channel_id: 1,
      stream_type: 'LOW',
      auto_stop_seconds: 60,
    });
    expect(started['stream_url']).toMatch(/\/1\/stream\.flv\?token=/);
    const streaming = await waitFor(async () => {
      const stream = await client.requestData(`${streamPath}&autoStart=false`);
      return stream['width'] !== null && stream;
    }, 'the first picture');
    expect(streaming).toMatchObject({ status: 'streaming', stream_type: 'LOW', video_codec: 'h264' });
    // Opens without headers, as players do.
    const player = new AbortController();
    const response = await fetch(String(started['stream_url']), { signal: player.signal });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'video/x-flv']);
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(Buffer.from(value ?? []).toString('latin1', 0, 3)).toBe('FLV');
    player.abort();
    const forged = await fetch(String(started['stream_url']).replace(/.{4}$/, 'AAAA'));
    expect(forged.status).toBe(401);
    const stopped = await client.requestData(`/vehicles/stop-dashcam-stream/${vehicleId}`, { channel_id: 1 });
    expect(stopped).toMatchObject([{ vehicle_id: vehicleId, channel_id: 1, status: 'stopped' }]);
    expect(await findError(client.request(`${streamPath}&autoStart=false`))).toBe('404 not_streaming');
    expect(await client.requestData(`/vehicles/stop-dashcam-stream/${vehicleId}`, {})).toEqual([]);
  });

  it('continues while another person watches, unless it is stopped by force', async () => {
    const { vehicleId, imei } = await dashcams.create();
    const started = await client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, {});
    const own = await openPlayer(String(started['stream_url']));
    // A viewer without a user, as the Device API permits on a trusted network.
    const other = await openPlayer(
      `${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?imei=${imei}&channel=1`,
    );
    await own.close();
    const stop = (force: boolean): Promise<unknown> =>
      client.requestData(`/vehicles/stop-dashcam-stream/${vehicleId}`, { channel_id: 1, force });
    expect(await stop(false)).toMatchObject([{ channel_id: 1, status: 'streaming' }]);
    expect(await stop(true)).toMatchObject([{ channel_id: 1, status: 'stopped' }]);
    await other.close();
  });

  it('is started by a request for its URL, in the requested quality', async () => {
    const { vehicleId } = await dashcams.create();
    const path = `/vehicles/${vehicleId}/v2/get-dashcam-stream?channelId=1&streamType=high`;
    expect(await client.requestData(path)).toMatchObject({ stream_type: 'HIGH' });
  });

  it('is refused for a disabled camera, a vehicle without a terminal, and an unknown vehicle', async () => {
    const { vehicleId } = await dashcams.create({ channels: [{ channel_id: 2, enabled: false }] });
    expect(
      await findError(client.request(`/vehicles/start-dashcam-stream/${vehicleId}`, { channel_id: 2, wake: false })),
    ).toBe('404 not_found');
    const { id } = await client.requestData('/vehicles', { vehicle_no: `N ${uniquePhone()}` });
    expect(await findError(client.request(`/vehicles/start-dashcam-stream/${String(id)}`, {}))).toBe(
      '404 device_not_connected',
    );
    expect(await findError(client.request('/vehicles/start-dashcam-stream/999999999', {}))).toBe(
      '404 vehicle_not_found',
    );
    expect(await findError(client.request(`/vehicles/start-dashcam-stream/${vehicleId}`, { stream_type: 'MAX' }))).toBe(
      '400 validation_failed',
    );
  });
});
