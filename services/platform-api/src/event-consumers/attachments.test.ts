import {
  type AttachmentsRequested,
  attachmentsRequested,
  attachmentsRequestedSubject,
  type DeviceCommandOf,
  encodeJson,
  expectAttachments,
  headers,
  mediaStoredSubject,
  type Outcome,
  publish,
  serveUseCase,
  sessionChanged,
} from '@fleet/bus';
import { AppError, createMetrics, Lifecycle } from '@fleet/service-kit';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, generalResponse, newImei } from '../testing/fake-terminals.ts';
import { type Client, PlatformHarness } from '../testing/platform-harness.ts';
import type { AttachmentRequest } from './attachment-request-store.ts';
import type { AttachmentTimings } from './attachment-settings.ts';
import { startAttachmentConsumers } from './attachments.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

type RequestedAttachments = DeviceCommandOf<'requestAttachments'>;

/** Failed requests are retried quickly; accepted ones with missing files are not, and no alarm timings out. */
const quick: Partial<AttachmentTimings> = {
  resendIntervalsMs: [600_000],
  retryMs: 100,
  maxRetryMs: 300,
  slotRetryMs: 100,
  slotTtlMs: 600_000,
  pollMs: 50,
};
const tagHex = '30303030303031260131100000010300';

describe('attachments of alarms', () => {
  let redis: ServerProcess;
  let harness: PlatformHarness;
  let api: Client;
  let terminals: FakeTerminals;
  let lifecycle: Lifecycle;
  let metrics: ReturnType<typeof createMetrics>;
  const expectations: { alarmNo: string; imei: string; count: number; notificationId: number; lifetimeMs: number }[] =
    [];
  /** Events of upload-ftp. */
  let expectNext: () => void = () => undefined;
  let server: { stop(): Promise<void> };
  let count = 0;

  beforeAll(async () => {
    redis = await (await ServerProcess.redis()).start();
    harness = await PlatformHarness.open({ REDIS_URL: `redis://127.0.0.1:${redis.port}`, PLATFORM_ROLES: 'api' });
    api = harness.as(harness.ours.owner);
    server = serveUseCase(harness.bus, expectAttachments, { queue: 'test', onError: () => undefined }, async (body) => {
      expectNext();
      expectations.push(body);
      return { host: '203.0.113.7', tcpPort: 7081 };
    });
  });
  afterAll(async () => {
    await server.stop();
    await harness.close();
    await redis.remove();
  });
  beforeEach(() => {
    terminals = new FakeTerminals(harness.deps);
    expectNext = () => undefined;
    expectations.length = 0;
    begin(quick);
  });
  afterEach(async () => {
    await lifecycle.stop();
    await terminals.close();
    await harness.deps.database.collection('attachment_requests').deleteMany({});
  });

  const begin = (timings: Partial<AttachmentTimings>): void => {
    lifecycle = new Lifecycle(harness.deps.log);
    metrics = createMetrics('attachments-test');
    const consumers = startAttachmentConsumers(harness.deps, { timings, registry: metrics });
    lifecycle.onStop('attachments', () => consumers.stop());
  };
  const counted = async (result: string): Promise<number> => {
    const { values } = (await metrics.getSingleMetric('platform_attachments_total')?.get()) ?? { values: [] };
    return values.find(({ labels }) => labels['result'] === result)?.value ?? 0;
  };
  const requests = () => harness.deps.database.collection<AttachmentRequest>('attachment_requests').find({}).toArray();
  const requested = (): RequestedAttachments[] =>
    terminals.seen.flatMap(({ command }) => (command.kind === 'requestAttachments' ? [command] : []));

  async function newAlarm(of: { imei?: string; vehicleId?: number; subject?: string } = {}) {
    const imei = of.imei ?? newImei();
    count += 1;
    const vehicleId = of.vehicleId ?? (await api.post('/api/vehicles', { vehicle_no: `FILES${count}`, imei })).data.id;
    const { accountId, id: ownerUserId } = harness.ours.owner;
    const vehicle = { id: vehicleId, accountId, ownerUserId, vehicleNo: 'FILES', driverId: null, imei };
    const atMs = Date.now();
    const subject = of.subject ?? '1';
    const place = { latitude: 22.5, longitude: 114, gpsValid: true, backfilled: false };
    const raised = { type: 'adas_headway', subject, atMs, ...place, attributes: { attachment_count: 3 } };
    await harness.deps.notifications.raise([{ vehicle, raised }]);
    return { imei, vehicleId, dedupeKey: `${imei}:adas_headway:${subject}:${atMs}`, atMs };
  }
  type Alarm = Awaited<ReturnType<typeof newAlarm>>;

  async function want({ imei, vehicleId, dedupeKey, atMs }: Alarm, more: Partial<AttachmentsRequested> = {}) {
    const accountId = harness.ours.accountId;
    const wanted = { accountId, vehicleId, imei, dedupeKey, tagHex, count: 3, atMs, ...more };
    expect(attachmentsRequested.check(wanted)).toBe(true);
    const head = headers();
    // Simulates a stream that lost it.
    count += 1;
    head.set('Nats-Msg-Id', `${dedupeKey}:${wanted.tagHex}:${count}`);
    await harness.bus.js.publish(attachmentsRequestedSubject(imei), encodeJson(wanted), { headers: head });
  }
  async function fileArrives(imei: string, alarmNo: string, no: number): Promise<void> {
    const fileId = `${String(no).padStart(8, '0')}${alarmNo.slice(0, 16)}`;
    const attachment = { alarmNo, accountId: 1, vehicleId: 1, notificationId: 1, name: `${no}.jpg` };
    const file = {
      fileId,
      imei,
      server: 'pod',
      kind: 'image',
      mimeType: 'image/jpeg',
      // An empty file counts like any other.
      sizeBytes: no === 1 ? 0 : 9,
      channel: 1,
      source: 'alarm',
      multimediaId: null,
      takenAt: null,
      receivedAtMs: Date.now(),
      place: null,
      attachment,
    };
    await harness.bus.js.publish(mediaStoredSubject(imei), encodeJson(file));
  }
  const attributesOf = async ({ vehicleId }: Alarm): Promise<unknown> =>
    (await api.get(`/api/notifications?vehicle_id=${vehicleId}`)).items[0]?.['attributes'];

  it('are announced to upload-ftp, then requested from the terminal, and not again once all have arrived', async () => {
    const alarm = await newAlarm();
    await terminals.connect(alarm.imei);
    await want(alarm);
    await waitFor(() => requested().length > 0);
    const [request] = requested();
    const alarmNo = request?.alarmNo ?? '';
    expect(alarmNo).toMatch(/^[0-9a-f]{32}$/);
    const [notification] = (await api.get(`/api/notifications?vehicle_id=${alarm.vehicleId}`)).items;
    expect(expectations[0]).toMatchObject({
      alarmNo,
      imei: alarm.imei,
      accountId: harness.ours.accountId,
      vehicleId: alarm.vehicleId,
      notificationId: notification?.id,
      count: 3,
      lifetimeMs: 3_600_000,
    });
    expect(request).toEqual({
      kind: 'requestAttachments',
      server: '203.0.113.7',
      tcpPort: 7081,
      udpPort: 0,
      tagHex,
      alarmNo,
    });
    for (const no of [1, 2, 2, 3]) await fileArrives(alarm.imei, alarmNo, no);
    await waitFor(async () => (await requests()).length === 0);
    await waitFor(async () => (await counted('received')) === 1);
    expect(await attributesOf(alarm)).toEqual({ attachment_count: 3 });
    // A redelivered event after all have arrived has no effect.
    const before = requested().length;
    await want(alarm);
    const other = await newAlarm({ imei: alarm.imei, vehicleId: alarm.vehicleId });
    await want(other, { count: 1 });
    await waitFor(() => requested().length > before);
    expect(
      requested()
        .slice(before)
        .map((each) => each.alarmNo),
    ).not.toContain(alarmNo);
  });

  it('are not requested again from a terminal that refuses, and the notification reports that', async () => {
    const alarm = await newAlarm();
    await terminals.connect(alarm.imei);
    terminals.respond = async () => generalResponse(3, 0x9208);
    await want(alarm);
    await waitFor(async () => (await counted('refused')) === 1);
    expect(await attributesOf(alarm)).toEqual({ attachment_count: 3, attachments: 'refused' });
    expect(await requests()).toEqual([]);
    expect(requested()).toHaveLength(1);
  });

  it('are requested from an offline terminal when it reconnects', async () => {
    await lifecycle.stop();
    begin({ ...quick, retryMs: 600_000, maxRetryMs: 600_000 });
    const alarm = await newAlarm();
    await want(alarm);
    await waitFor(async () => ((await requests())[0]?.missed ?? 0) > 0);
    expect(requested()).toEqual([]);
    await terminals.connect(alarm.imei);
    await waitFor(() => {
      publish(harness.bus, sessionChanged, { imei: alarm.imei, isOnline: true, atMs: Date.now() });
      return requested().length > 0;
    });
    await waitFor(async () => (await requests())[0]?.asked === 1);
    expect((await requests())[0]).toMatchObject({ missed: 0, isHeld: false });
  });

  it('are requested again at once from a terminal that reconnected during the attempt', async () => {
    await lifecycle.stop();
    begin({ ...quick, retryMs: 600_000, maxRetryMs: 600_000 });
    const alarm = await newAlarm();
    await terminals.connect(alarm.imei);
    terminals.respond = async () => {
      if (requested().length > 1) return generalResponse(0, 0x9208);
      await terminals.connect(alarm.imei);
      return { kind: 'timedOut' };
    };
    await want(alarm);
    await waitFor(async () => (await requests())[0]?.asked === 1);
    expect(requested()).toHaveLength(2);
  });

  it.each<[string, Outcome]>([
    ['busy', { kind: 'busy', detail: 'draining' }],
    ['unreadable', { kind: 'unreadable', detail: 'an invalid response' }],
    ['failing', { kind: 'refused', detail: 'its gateway', isOurFault: true }],
  ])('are requested again under the same number from a terminal that is %s', async (_case, outcome) => {
    const alarm = await newAlarm();
    await terminals.connect(alarm.imei);
    terminals.respond = async () => (requested().length < 3 ? outcome : generalResponse(0, 0x9208));
    await want(alarm);
    await waitFor(async () => ((await requests())[0]?.asked ?? 0) > 0);
    expect(new Set(requested().map(({ alarmNo }) => alarmNo)).size).toBe(1);
  });

  it('are deferred while upload-ftp is unavailable', async () => {
    const alarm = await newAlarm();
    await terminals.connect(alarm.imei);
    let fails = 2;
    expectNext = () => {
      fails -= 1;
      if (fails >= 0) throw new AppError('unavailable', 'not now');
    };
    await want(alarm);
    await waitFor(() => requested().length > 0);
    expect(expectations).toHaveLength(1);
  });

  it('are requested a few timings while files are missing, and then given up', async () => {
    await lifecycle.stop();
    begin({ ...quick, resendIntervalsMs: [500, 500] });
    const alarm = await newAlarm();
    await terminals.connect(alarm.imei);
    await want(alarm);
    await waitFor(() => requested().length > 0);
    await fileArrives(alarm.imei, requested()[0]?.alarmNo ?? '', 1);
    await waitFor(async () => (await counted('incomplete')) === 1);
    expect(requested()).toHaveLength(3);
    expect(await attributesOf(alarm)).toMatchObject({ attachments: 'incomplete' });
    expect(await requests()).toEqual([]);
  });

  it('of one terminal are requested for two alarms concurrently; the next starts when one has ended', async () => {
    const first = await newAlarm({ subject: '1' });
    const more = [await newAlarm({ ...first, subject: '2' }), await newAlarm({ ...first, subject: '3' })];
    await terminals.connect(first.imei);
    for (const alarm of [first, ...more]) await want(alarm, { count: 1 });
    await waitFor(async () => (await requests()).length === 3 && requested().length === 2);
    const [done] = requested();
    await fileArrives(first.imei, done?.alarmNo ?? '', 1);
    await waitFor(() => requested().length === 3);
    expect(new Set(requested().map(({ alarmNo }) => alarmNo)).size).toBe(3);
  });

  it('are not requested from a terminal in another vehicle', async () => {
    const alarm = await newAlarm();
    await terminals.connect(alarm.imei);
    await api.put(`/api/vehicles/${alarm.vehicleId}`, { imei: null });
    await harness.as(harness.theirs.owner).post('/api/vehicles', { vehicle_no: 'THEIRS', imei: alarm.imei });
    await want(alarm);
    await waitFor(async () => (await counted('moved')) === 1);
    expect(requested()).toEqual([]);
    expect(await attributesOf(alarm)).toEqual({ attachment_count: 3 });
  });

  it('are given up for a terminal that stays offline, and the notification reports that', async () => {
    await lifecycle.stop();
    begin({ ...quick, timeoutMs: 1_000 });
    const alarm = await newAlarm();
    await want(alarm, { atMs: Date.now() });
    await waitFor(async () => ((await attributesOf(alarm)) as Record<string, unknown>)['attachments'] === 'unreached');
    await waitFor(async () => (await requests()).length === 0);
    expect(requested()).toEqual([]);
  });

  it('are not requested too late, and the notification reports that', async () => {
    const alarm = await newAlarm();
    await terminals.connect(alarm.imei);
    await want(alarm, { atMs: Date.parse('2020-01-31T00:00:00Z') });
    await waitFor(async () => ((await attributesOf(alarm)) as Record<string, unknown>)['attachments'] === 'unreached');
    expect(requested()).toEqual([]);
  });

  it('are taken over from another replica', async () => {
    await lifecycle.stop();
    begin({ ...quick, retryMs: 600_000, maxRetryMs: 600_000 });
    const alarm = await newAlarm();
    await want(alarm);
    await waitFor(async () => (await requests())[0]?.isHeld === false);
    const [left] = await requests();
    await lifecycle.stop();
    await terminals.connect(alarm.imei);
    await harness.deps.database
      .collection('attachment_requests')
      .updateMany({}, { $set: { nextAtMs: 0, isHeld: true } });
    begin(quick);
    await waitFor(() => requested().length > 0);
    expect(requested()[0]?.alarmNo).toBe(left?._id.split(':')[1]);
  });

  it('are deleted with their vehicle', async () => {
    const alarm = await newAlarm();
    await want(alarm);
    await waitFor(async () => (await requests())[0]?.isHeld === false);
    expect((await api.delete(`/api/vehicles/${alarm.vehicleId}`)).status).toBe(200);
    expect(await requests()).toEqual([]);
  });
});
