import { type DataUsageReported, dataUsageReported, dataUsageSubject, ensureStreams, subscribe } from '@fleet/bus';
import { type AccessUnit } from '@fleet/jt1078/testing';
import type { StreamId } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, TcpCamera, TestCamera } from './testing/camera.ts';
import { type MediaHarness, startHarness } from './testing/harness.ts';

jest.setTimeout(60_000);

type Span = DataUsageReported['spans'][number];

let harness: MediaHarness;
let card: AccessUnit[];
const reports: DataUsageReported[] = [];
beforeAll(async () => {
  card = await createTestCard({ seconds: 1 });
  harness = await startHarness({ MEDIA_USAGE_REPORT_MS: '200' });
  await ensureStreams(await harness.bus.jetstreamManager(), { replicas: 1 });
  const onError = (error: unknown): void => {
    throw error;
  };
  subscribe(harness.bus, dataUsageReported, onError, (report) => void reports.push(report), subjectOf(harness));
  await harness.bus.flush();
});
afterAll(() => harness.stop());

const subjectOf = ({ podId }: MediaHarness): string => dataUsageSubject(podId);

/** Returns the spans of a stream by session. Repeated reports are equal. */
function findSpans({ imei }: StreamId): Span[][] {
  const spans = new Map(
    reports
      .flatMap((report) => report.spans)
      .filter((span) => span.imei === imei)
      .map((span) => [`${span.session} ${span.fromBytes}`, span]),
  );
  const sessions = new Map<string, Span[]>();
  for (const span of spans.values()) sessions.set(span.session, [...(sessions.get(span.session) ?? []), span]);
  return [...sessions.values()];
}

const sumBytes = (sessions: readonly Span[][]): number =>
  sessions.flat().reduce((sum, { fromBytes, toBytes }) => sum + toBytes - fromBytes, 0);

/** Sends the test card once, and returns the number of bytes. */
async function sendCard(camera: TcpCamera, voice: TestCamera): Promise<number> {
  let sentBytes = 0;
  for (const unit of card) {
    const packets = voice.createVideoPackets(unit);
    await camera.send(...packets);
    sentBytes += packets.reduce((sum, packet) => sum + packet.length, 0);
    voice.timestampMs += 40;
  }
  return sentBytes;
}

const portOf = ({ service }: MediaHarness, kind: 'live' | 'history'): number =>
  kind === 'live' ? service.livePort : service.historyPort;

describe('the report of received bytes', () => {
  it.each([
    ['live', 'live'],
    ['history', 'playback'],
  ] as const)('counts every byte of a %s stream once, in adjoining spans of one counter', async (kind, usageKind) => {
    const id = await harness.requestStream({ kind, channel: 3, dataType: kind === 'live' ? 1 : 2 });
    const camera = new TcpCamera(portOf(harness, kind));
    const voice = new TestCamera(id);
    let sentBytes = await sendCard(camera, voice);
    await waitFor(() => sumBytes(findSpans(id)) === sentBytes, 'the first bytes');
    sentBytes += await sendCard(camera, voice);
    await waitFor(() => sumBytes(findSpans(id)) === sentBytes, 'the other bytes');
    const [spans = [], ...others] = findSpans(id);
    expect(others).toEqual([]);
    const inOrder = spans.toSorted((a, b) => a.fromBytes - b.fromBytes);
    expect(inOrder.map(({ fromBytes }) => fromBytes)).toEqual([0, ...inOrder.slice(0, -1).map((span) => span.toBytes)]);
    for (const span of spans) expect(span).toMatchObject({ imei: id.imei, channel: 3, kind: usageKind });
    camera.close();
  });

  it('contains the last bytes of a service that stops', async () => {
    const stopping = await startHarness({ MEDIA_USAGE_REPORT_MS: '600000' });
    const received: DataUsageReported[] = [];
    const onReport = (report: DataUsageReported): void => void received.push(report);
    subscribe(harness.bus, dataUsageReported, () => undefined, onReport, subjectOf(stopping));
    await harness.bus.flush();
    const id = await stopping.requestStream({ dataType: 1 });
    const camera = new TcpCamera(portOf(stopping, 'live'));
    const sentBytes = await sendCard(camera, new TestCamera(id));
    const countPackets = async () => (await stopping.findStream(id))?.packets ?? 0;
    const packetCount = card.flatMap((unit) => new TestCamera(id).createVideoPackets(unit)).length;
    await waitFor(async () => (await countPackets()) === packetCount, 'the packets');
    expect(received).toEqual([]);
    await stopping.stop();
    await waitFor(() => received.length > 0, 'the report');
    expect(received.flatMap(({ spans }) => spans)).toMatchObject([{ imei: id.imei, fromBytes: 0, toBytes: sentBytes }]);
    camera.close();
  });
});
