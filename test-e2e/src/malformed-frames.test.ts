import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { type Edition, encodeFrame, type Frame, FrameSplitter } from '@fleet/jt808';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { leaseHarness, type ProductHarness } from './testing/harness.ts';
import { readCounter } from './testing/metrics.ts';

const protocol = resolve('../shared/protocol');
const describeShared = existsSync(protocol) ? describe : describe.skip;
if (!existsSync(protocol)) console.log(`${protocol} does not exist: frames of real terminals are skipped`);

interface Malformed {
  readonly id: string;
  readonly why: string;
  readonly chunks: readonly string[];
  readonly expected: {
    readonly frames: readonly { message_id: string; serial: number }[];
    readonly dropped: Readonly<Record<string, number>>;
  };
}

interface Vector {
  readonly edition: Edition;
  readonly direction: 'up' | 'down';
  readonly frame: string;
  readonly real_device?: boolean;
  readonly expect: { readonly phone: string };
}

const read = <T>(name: string): T[] =>
  existsSync(protocol) ? (JSON.parse(readFileSync(resolve(protocol, name), 'utf8')) as T[]) : [];
const malformed = read<Malformed>('jt808-malformed.json');
const upward = read<Vector>('jt808-vectors.json').filter((vector) => vector.direction === 'up');

let harness: ProductHarness;
let witness: SimulatedTerminal;
let gatewayPid: number | undefined;

beforeAll(async () => {
  harness = await leaseHarness();
  gatewayPid = harness.product.runtime.processes['jt808-gateway'];
  witness = await harness.startTerminal();
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const wake = async (phone: string): Promise<number> => (await harness.get(`/wakeup?imei=${phone}`)).status;

/** Asserts that the gateway is still the same process and serves other terminals. */
async function expectUnharmed(): Promise<void> {
  expect(await wake(witness.phone)).toBe(200);
  expect(witness.isOnline).toBe(true);
  expect(harness.product.runtime.processes['jt808-gateway']).toBe(gatewayPid);
}

/** Returns `[serial, message id, result]` of each 0x8001 that a terminal received. */
const acknowledgements = (terminal: SimulatedTerminal): [serial: number, id: number, result: number][] =>
  terminal
    .receivedFrames(0x8001)
    .map(({ body }) => [body.readUInt16BE(0), body.readUInt16BE(2), body[4] ?? -1] as [number, number, number]);

const faultCounters = [
  'gateway_frames_dropped_total',
  'gateway_messages_dropped_total',
  'gateway_garbage_connections_total',
];

/** Returns the sum of all faults. Those of frames are counted when the connection is closed. */
async function dropped(): Promise<number> {
  const counts = await Promise.all(faultCounters.map((name) => readCounter(harness, 'jt808-gateway', name)));
  return counts.reduce((sum, count) => sum + count, 0);
}

describeShared('malformed frames on a real connection', () => {
  it.each(malformed.map((one) => [one.id, one.why, one] as const))(
    '%s: %s',
    async (_id, _why, { chunks, expected }) => {
      const terminal = await harness.startTerminal({ phone: '013912345678', reconnect: false, heartbeatMs: 0 });
      const before = await dropped();
      const loginCount = acknowledgements(terminal).length;
      const listResponses = () => acknowledgements(terminal).slice(loginCount);
      for (const chunk of chunks) terminal.sendRaw(Buffer.from(chunk, 'hex'));
      const good = expected.frames.map((frame): [number, number] => [frame.serial, Number(frame.message_id)]);
      for (const [serial, id] of good) {
        const reply = await waitFor(
          () => listResponses().find((one) => one[0] === serial && one[1] === id),
          `a reply to ${serial}`,
        );
        // An authentication code that was never issued is refused; everything else is accepted.
        expect(reply[2]).toBe(id === 0x0102 ? 1 : 0);
      }
      // Invalid frames between valid ones get no reply, unless their header is valid and only the body is invalid.
      const wrong = listResponses().filter(([serial, id]) => !good.some((one) => one[0] === serial && one[1] === id));
      expect(wrong.map(([, id, result]) => [id, result])).toEqual('bad_body' in expected.dropped ? [[0x0200, 2]] : []);
      // The terminal stays connected and works.
      expect(terminal.isOnline).toBe(true);
      expect(await wake(terminal.phone)).toBe(200);
      await terminal.stop();
      const faults = Object.values(expected.dropped).reduce((sum, count) => sum + count, 0);
      await waitFor(async () => (await dropped()) === before + faults, 'the fault to be counted');
      await expectUnharmed();
    },
    60_000,
  );
});

/** 0x0004, query of the server's time: any connection gets a 0x8004 in reply. */
const probe = encodeFrame({
  messageId: 0x0004,
  phone: '013912345678',
  edition: '2013',
  serial: 4711,
  body: Buffer.alloc(0),
});

/**
 * Sends bytes on a separate connection, in pieces of the given size. Returns the number of replies when everything is
 * read or the connection is closed.
 */
async function sendInPieces(bytes: Buffer, pieceBytes: number): Promise<number> {
  const { host, port } = harness.product.runtime.jt808;
  const socket = connect({ host, port, noDelay: true });
  let responseCount = 0;
  let isOver = false;
  const splitter = new FrameSplitter();
  const onFrame = ({ messageId }: Frame): void => {
    responseCount += 1;
    if (messageId === 0x8004) isOver = true;
  };
  socket.on('data', (chunk: Buffer) => splitter.push(chunk, onFrame));
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    isOver = true;
  });
  for (let at = 0; at < bytes.length && !socket.destroyed; at += pieceBytes)
    await write(socket, bytes.subarray(at, at + pieceBytes));
  // Sent twice: the first may complete half a frame.
  await write(socket, Buffer.concat([probe, probe]));
  await waitFor(() => isOver, 'the gateway to have read everything');
  socket.destroy();
  return responseCount;
}

const write = (socket: Socket, bytes: Buffer): Promise<void> =>
  new Promise((done) => {
    if (socket.destroyed) done();
    else socket.write(bytes, () => done());
  });

describeShared('the frames of real terminals', () => {
  const frames = upward.map((vector) => Buffer.from(vector.frame, 'hex'));

  it.each([1, 7, 1_000, 1_000_000])(
    'are harmless on a connection without a log-in, %d bytes at a time',
    async (pieceBytes) => {
      // Each is refused, or is a registration; ten failed log-ins would close the connection.
      expect(await sendInPieces(Buffer.concat(frames), pieceBytes)).toBeGreaterThan(100);
      await expectUnharmed();
    },
    60_000,
  );

  it('are harmless when they are cut and rotated at various offsets', async () => {
    const all = Buffer.concat(frames);
    for (let cut = 1; cut <= 20; cut += 1) {
      const at = Math.floor((all.length * cut) / 21);
      expect(await sendInPieces(Buffer.concat([all.subarray(at), all.subarray(0, at)]), 5_000)).toBeGreaterThan(10);
      await sendInPieces(
        Buffer.concat(frames.map((frame) => frame.subarray(0, Math.max(1, frame.length - cut)))),
        5_000,
      );
    }
    await expectUnharmed();
  }, 60_000);

  it('are accepted from logged-in terminals with the numbers that the frames contain', async () => {
    const byNumber = new Map<string, Vector[]>();
    // The simulated terminals cannot have numbers with letters.
    for (const vector of upward.filter(({ expect: { phone } }) => /^(?!0+$)\d+$/.test(phone)))
      byNumber.set(vector.expect.phone, [...(byNumber.get(vector.expect.phone) ?? []), vector]);
    const stored = (): Promise<number> => readCounter(harness, 'jt808-gateway', 'gateway_reports_total');
    const storedBefore = await stored();
    for (const [phone, vectors] of byNumber) {
      const terminal = await harness.startTerminal({
        phone,
        edition: vectors[0]?.edition,
        reconnect: { minMs: 50, maxMs: 200 },
      });
      for (const vector of vectors) terminal.sendRaw(Buffer.from(vector.frame, 'hex'));
      // Some frames log out or reply to commands that were never sent; the terminal must always be able to reconnect.
      const [last] = terminal.send({ messageId: 0x0002, body: Buffer.alloc(0) });
      await waitFor(
        () => acknowledgements(terminal).some(([serial, id]) => serial === last?.serial && id === 0x0002),
        `a reply after the frames of ${phone}`,
      );
      terminal.dropConnection();
      await terminal.waitUntilOnline();
      await waitFor(async () => (await wake(phone)) === 200, `${phone} to accept commands`);
      await terminal.stop();
    }
    expect(await stored()).toBeGreaterThan(storedBefore + 40);
    await expectUnharmed();
  }, 120_000);
});
