import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { type DedicatedHarness, leaseHarness, shortWaitSettings } from './testing/harness.ts';
import { findError, type PlatformRecord } from './testing/platform-client.ts';
import { ServiceReplica } from './testing/service-replica.ts';

jest.setTimeout(180_000);

const capturesPerMinute = 4;

let harness: DedicatedHarness;
let dashcams: Dashcams;
beforeAll(async () => {
  const limit = { RATE_LIMIT_CAPTURE_PER_MINUTE: String(capturesPerMinute) };
  harness = await leaseHarness({ ...shortWaitSettings, ...limit });
  dashcams = await Dashcams.open(harness);
}, 240_000);
afterAll(() => harness?.stop(), 90_000);

interface CaptureResponse {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly data: PlatformRecord;
}

/** Requests a capture from one replica of platform-api, without a repetition after 429. */
async function captureAt(
  replica: ServiceReplica | null,
  { vehicleId }: Dashcam,
  waitSeconds = 60,
): Promise<CaptureResponse> {
  const url = replica?.url ?? harness.product.runtime.base_url;
  const path = `/api/vehicles/${vehicleId}/dashcam-media-capture?wait=${waitSeconds}`;
  const response = await fetch(`${url}${path}`, { method: 'POST', headers: dashcams.client.headers, body: '{}' });
  const { data } = (await response.json()) as { data: PlatformRecord };
  return { status: response.status, retryAfter: response.headers.get('retry-after'), data };
}

const filesOf = ({ data }: CaptureResponse) => data['media'] as readonly PlatformRecord[];
const createDashcams = (count: number): Promise<Dashcam[]> =>
  Promise.all(Array.from({ length: count }, () => dashcams.create()));

describe('captures over two replicas of platform-api', () => {
  let replica: ServiceReplica;
  beforeAll(async () => {
    replica = await ServiceReplica.start(harness, 'platform-api');
  }, 90_000);
  afterAll(() => replica?.stop());

  it('have one picture of the right vehicle each when 20 are requested at once', async () => {
    const vehicles = await createDashcams(5);
    const requested = vehicles.flatMap((dashcam) =>
      Array.from({ length: capturesPerMinute }, (_unused, no) => ({ dashcam, at: no % 2 === 0 ? null : replica })),
    );
    const responses = await Promise.all(
      requested.map(async ({ dashcam, at }) => ({ dashcam, response: await captureAt(at, dashcam) })),
    );
    expect(responses.map(({ response }) => response.status)).toEqual(responses.map(() => 200));
    for (const { dashcam, response } of responses)
      expect(filesOf(response)).toMatchObject([
        { vehicle_id: dashcam.vehicleId, imei: dashcam.imei, capture_id: response.data['capture_id'] },
      ]);
    const ids = responses.flatMap(({ response }) => filesOf(response).map(({ id }) => id));
    expect(new Set(ids).size).toBe(20);
    for (const dashcam of vehicles) {
      expect(dashcam.terminal.receivedFrames(0x8801)).toHaveLength(capturesPerMinute);
      expect(await dashcams.client.listAll(`/vehicles/${dashcam.vehicleId}/list-dashcam-media`)).toHaveLength(4);
    }
  });

  it('are 429 above the limit of a vehicle, which the replicas count together', async () => {
    const [dashcam] = await createDashcams(1);
    if (dashcam === undefined) throw new Error('no vehicle');
    const requested = Array.from({ length: 12 }, (_unused, no) => (no % 2 === 0 ? null : replica));
    const responses = await Promise.all(requested.map((at) => captureAt(at, dashcam, 0)));
    const refused = responses.filter(({ status }) => status === 429);
    // A busy machine may need the time in which the limit permits another one.
    expect(responses.length - refused.length).toBeGreaterThanOrEqual(capturesPerMinute);
    expect(responses.length - refused.length).toBeLessThanOrEqual(capturesPerMinute + 2);
    expect(refused.every(({ retryAfter }) => Number(retryAfter) > 0)).toBe(true);
  });

  it('are completed by the other replica if one is killed, and no command is sent twice', async () => {
    const killed = await ServiceReplica.start(harness, 'platform-api');
    const vehicles = await createDashcams(4);
    for (const { terminal } of vehicles) terminal.setBehaviour({ kind: 'slow', delayMs: 3_000 }, 0x8801);
    const responses = Promise.allSettled(vehicles.map((dashcam) => captureAt(killed, dashcam)));
    const isRequested = ({ terminal }: Dashcam): boolean => terminal.receivedFrames(0x8801).length > 0;
    await waitFor(() => vehicles.every(isRequested), 'the commands', 30_000);
    await killed.stop('SIGKILL');
    // The callers see at once that their server has died.
    expect((await responses).map(({ status }) => status)).toEqual(vehicles.map(() => 'rejected'));
    for (const { vehicleId, terminal } of vehicles) {
      const files = () => dashcams.client.listAll(`/vehicles/${vehicleId}/list-dashcam-media`);
      const [file] = await waitFor(
        async () => {
          const found = await files();
          return found.some((each) => each['capture_id'] !== null) && found;
        },
        'the picture',
        60_000,
      );
      const path = `/dashcam-captures/${String(file?.['capture_id'])}`;
      await waitFor(
        async () => (await dashcams.client.requestData(path))['status'] === 'completed',
        'the end of the capture',
        60_000,
      );
      expect(await files()).toHaveLength(1);
      expect(terminal.receivedFrames(0x8801)).toHaveLength(1);
    }
  });
});

describe('a capture of a terminal', () => {
  const capture = ({ vehicleId }: Dashcam, query = 'wait=60') =>
    dashcams.client.requestData(`/vehicles/${vehicleId}/dashcam-media-capture?${query}`, {});

  it('that does not wake up is 504', async () => {
    const dashcam = await dashcams.create();
    dashcam.terminal.setBehaviour({ kind: 'sleeping', wakeAfterTries: 1_000 });
    expect(await findError(capture(dashcam))).toBe('504 device_timeout');
  });

  it('that refuses pictures and live video is 502', async () => {
    const dashcam = await dashcams.create();
    dashcam.terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x8801);
    dashcam.terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x9101);
    expect(await findError(capture(dashcam))).toBe('502 upstream_error');
  });

  it('that agrees to stream and never connects is 502', async () => {
    const dashcam = await dashcams.create({}, { media: 'neverConnect' });
    dashcam.terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x8801);
    expect(await findError(capture(dashcam))).toBe('502 upstream_error');
  });

  it('that dies in the middle of a picture stays pending, without a part of it as a file', async () => {
    const dashcam = await dashcams.create({}, { picturePartsBeforeDrop: 1 });
    const pending = await capture(dashcam, 'wait=0&quality=max');
    await waitFor(() => !dashcam.terminal.isOnline, 'the lost connection');
    await dashcam.terminal.stop();
    const path = `/dashcam-captures/${String(pending['capture_id'])}`;
    expect(await dashcams.client.requestData(path)).toMatchObject({ status: 'pending', media: [] });
    expect(await dashcams.client.listAll(`/vehicles/${dashcam.vehicleId}/list-dashcam-media`)).toEqual([]);
  });

  it('that dies while a clip is recorded fails soon with the reason, without a file', async () => {
    const dashcam = await dashcams.create();
    const { terminal, imei, vehicleId } = dashcam;
    const { video_url: url, demo } = harness.product.runtime;
    const response = fetch(`${url}/${imei}/media-capture`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': demo.api_key },
      body: JSON.stringify({ kind: 'clip', duration_seconds: 20, wait: 60 }),
    });
    await dashcams.waitUntilStreaming(dashcam);
    await terminal.stop();
    const { status, body } = await response.then(async (each) => ({ status: each.status, body: await each.json() }));
    expect({ status, body }).toMatchObject({ status: 404, body: { error: 'The device is not connected.' } });
    expect(await dashcams.client.listAll(`/vehicles/${vehicleId}/list-dashcam-media`)).toEqual([]);
  });
});
