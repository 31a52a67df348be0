import { readTelemetryBatch } from '@fleet/bus';
import { encodeFrame, type Frame, FrameSplitter } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { Device, type Session } from '../domain/device.ts';
import { GatewayMetrics } from '../metrics.ts';
import type { Connection } from '../net/connection.ts';
import { TelemetryWriter } from './telemetry-writer.ts';

interface Published {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly done: (stored: boolean) => void;
}

const parseFrames = (bytes: Buffer): Frame[] => {
  const frames: Frame[] = [];
  new FrameSplitter().push(bytes, (frame) => frames.push(frame));
  return frames;
};

const report = (serial: number, body = Buffer.alloc(30, serial)): Frame => {
  const [frame] = parseFrames(encodeFrame({ messageId: 0x0200, edition: '2013', phone: '013800138000', serial, body }));
  if (frame === undefined) throw new Error('could not parse the frame');
  return frame;
};

/** Creates a session whose connection records sent bytes. */
function createSession(imei: string, partition = 0): { session: Session; sent: Buffer[] } {
  const sent: Buffer[] = [];
  const connection = { pendingAcks: 0, receivedAtMs: 1_000, send: (bytes: Buffer) => sent.push(bytes) };
  const device = new Device(imei, partition, 0);
  const address = report(0).toAddress();
  const session = { device, address, edition: '2013', connection: connection as unknown as Connection };
  return { session: session as Session, sent };
}

function createWriter(options: { partitions?: number; accepts?: boolean } = {}) {
  const published: Published[] = [];
  const writer = new TelemetryWriter({
    partitions: options.partitions ?? 1,
    metrics: new GatewayMetrics(),
    publish: (subject, payload, done) => {
      published.push({ subject, payload, done });
      return options.accepts ?? true;
    },
  });
  return { writer, published };
}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });

describe('TelemetryWriter', () => {
  it('batches the reports of one event-loop iteration and acknowledges each socket in one write once they are stored', async () => {
    const { writer, published } = createWriter();
    const [one, two] = [createSession('1'), createSession('2')];
    for (const [{ session }, serial] of [
      [one, 1],
      [two, 2],
      [one, 3],
      [one, 4],
    ] as const)
      writer.append(session, report(serial), report(serial).body);
    expect(published).toEqual([]);
    await turn();
    expect(published).toHaveLength(1);
    const [batch] = published;
    expect([...readTelemetryBatch(batch?.payload ?? Buffer.alloc(0))].map(({ serialNo }) => serialNo)).toEqual([
      1, 2, 3, 4,
    ]);
    expect([one.sent, two.sent]).toEqual([[], []]);
    batch?.done(true);
    expect(one.sent).toHaveLength(1);
    const acks = parseFrames(one.sent[0] ?? Buffer.alloc(0));
    expect(acks.map(({ messageId, serial, body }) => [messageId, serial, body.toString('hex')])).toEqual([
      [0x8001, 0, '0001020000'],
      [0x8001, 1, '0003020000'],
      [0x8001, 2, '0004020000'],
    ]);
    expect(parseFrames(two.sent[0] ?? Buffer.alloc(0)).map(({ body }) => body.toString('hex'))).toEqual(['0002020000']);
    expect([one, two].map(({ session }) => session.connection.pendingAcks)).toEqual([0, 0]);
  });

  it.each([
    ['dropped after publishing', true],
    ['rejected by a full buffer', false],
  ])('acknowledges no report that was %s', async (_how, accepts) => {
    const { writer, published } = createWriter({ accepts });
    const { session, sent } = createSession('1');
    writer.append(session, report(1), report(1).body);
    await turn();
    if (accepts) published[0]?.done(false);
    expect(sent).toEqual([]);
    expect(session.connection.pendingAcks).toBe(0);
  });

  it('publishes the reports of each partition separately', async () => {
    const { writer, published } = createWriter({ partitions: 4 });
    for (const partition of [0, 3, 3]) writer.append(createSession('1', partition).session, report(1), report(1).body);
    await turn();
    expect(published.map(({ subject }) => subject)).toEqual(['telemetry.0', 'telemetry.3']);
  });

  it('sends a batch before it exceeds the message limit, and grows batches while several are unconfirmed', async () => {
    const { writer, published } = createWriter();
    const { session } = createSession('1');
    const body = Buffer.alloc(1_000, 1);
    for (let i = 0; i < 600; i += 1) writer.append(session, report(i & 0xff), body);
    expect(published.length).toBeGreaterThanOrEqual(2);
    await turn();
    for (const { payload } of published) expect(payload.length).toBeLessThanOrEqual(256 * 1024);
    for (let i = 0; i < 10; i += 1) {
      writer.append(session, report(i), report(i).body);
      await turn();
    }
    expect(published).toHaveLength(4);
    published[0]?.done(true);
    expect(published).toHaveLength(5);
    const last = published.at(-1)?.payload ?? Buffer.alloc(0);
    expect([...readTelemetryBatch(last)].length).toBeGreaterThan(5);
  });
});
