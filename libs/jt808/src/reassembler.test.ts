import { describe, expect, it } from '@jest/globals';
import { encodeRawMessage } from './encode-message.ts';
import { encodeFrame, type Frame } from './frame.ts';
import { decodeBody, encodeBody } from './message.ts';
import { platformRetransmitRequest } from './messages/session.ts';
import { Reassembler, type ReassemblerOptions } from './reassembler.ts';
import { elementAt, onlyFrame } from './testing/shared.ts';

const photo = Buffer.from(Array.from({ length: 2500 }, (_, index) => index % 251));

function parts(body: Buffer, serial = 100, messageId = 0x0801): Frame[] {
  const header = { edition: '2013' as const, phone: '123456789012', serial };
  return encodeRawMessage(messageId, body, header).map((wire) => onlyFrame(wire.toString('hex')));
}

function part(total: number, no: number, serial: number, body: string): Frame {
  const subpackage = { total, no };
  return onlyFrame(
    encodeFrame({ messageId: 0x0801, phone: '1', serial, body: Buffer.from(body), subpackage }).toString('hex'),
  );
}

function setUp(options: Partial<ReassemblerOptions> = {}) {
  const clock = { ms: 0 };
  return { clock, reassembler: new Reassembler({ now: () => clock.ms, ...options }) };
}

/** Returns the outcomes as short words, and a joined message as its text. */
function push(reassembler: Reassembler, frames: readonly Frame[], terminal = 't'): string[] {
  return frames.map((frame) => {
    const outcome = reassembler.push(terminal, frame);
    return outcome.kind === 'complete' ? outcome.message.body.toString() : outcome.kind;
  });
}

describe('Reassembler', () => {
  it.each([
    ['in order', [0, 1, 2]],
    ['backwards', [2, 1, 0]],
    ['with duplicates', [0, 0, 1, 1, 0, 2]],
  ])('joins parts that arrive %s', (_name, order) => {
    const { reassembler } = setUp();
    const frames = parts(photo);
    const outcomes = order.map((index) => reassembler.push('t', elementAt(frames, index)));
    const last = outcomes.at(-1);
    expect(last?.kind === 'complete' && last.message.body.equals(photo)).toBe(true);
    expect(last).toMatchObject({ message: { messageId: 0x0801, total: 3, firstSerial: 100 } });
    expect(reassembler.bufferedBytes).toBe(0);
  });

  it('separates transfers by terminal, message id and total, whatever their serials', () => {
    const { reassembler } = setUp();
    const a = parts(photo, 7);
    const b = parts(photo.subarray(0, 1500), 7, 0x0104);
    expect(push(reassembler, [elementAt(a, 0), elementAt(b, 0), elementAt(a, 1)])).toEqual([
      'stored',
      'stored',
      'stored',
    ]);
    expect(push(reassembler, [elementAt(a, 2)], 'other')).toEqual(['stored']);
    expect(reassembler.push('t', elementAt(b, 1)).kind).toBe('complete');
    expect(reassembler.push('t', elementAt(a, 2)).kind).toBe('complete');
  });

  it('starts over if part 1 arrives again with another serial', () => {
    const { reassembler } = setUp();
    const old = [part(3, 1, 10, 'a'), part(3, 2, 11, 'b')];
    const restarted = [part(3, 1, 20, 'A'), part(3, 2, 21, 'B'), part(3, 3, 22, 'C')];
    expect(push(reassembler, [...old, ...restarted])).toEqual(['stored', 'stored', 'stored', 'stored', 'ABC']);
  });

  it('starts over for the same content with another serial', () => {
    const { reassembler } = setUp();
    const frames = [part(2, 1, 10, 'a'), part(2, 1, 11, 'a'), part(2, 2, 12, 'b')];
    expect(push(reassembler, frames)).toEqual(['stored', 'stored', 'ab']);
  });

  it('recognises late duplicates of a finished transfer, and accepts a new transfer of a terminal that repeats its serials', () => {
    const { reassembler } = setUp();
    const first = [part(2, 1, 0, 'a'), part(2, 2, 0, 'b')];
    expect(push(reassembler, [...first, ...first])).toEqual(['stored', 'ab', 'duplicate', 'duplicate']);
    expect(push(reassembler, [part(2, 1, 0, 'c'), part(2, 2, 0, 'd')])).toEqual(['stored', 'cd']);
  });

  it('starts over with parts of a joined message that could not be stored', () => {
    const { reassembler } = setUp();
    const parts = [part(2, 1, 10, 'a'), part(2, 2, 11, 'b')] as const;
    expect(push(reassembler, [...parts, parts[1]])).toEqual(['stored', 'ab', 'duplicate']);
    reassembler.allowRetransmission('t', { messageId: 0x0801, total: 2 });
    reassembler.allowRetransmission('nobody', { messageId: 0x0801, total: 2 });
    expect(push(reassembler, [parts[1], parts[0], parts[1]])).toEqual(['stored', 'ab', 'duplicate']);
  });

  it('accepts a message in one part, and rejects a frame that is not a part', () => {
    const { reassembler } = setUp();
    expect(push(reassembler, [part(1, 1, 5, 'x')])).toEqual(['x']);
    const whole = onlyFrame(encodeFrame({ messageId: 2, phone: '1', serial: 1 }).toString('hex'));
    expect(reassembler.push('t', whole)).toEqual({ kind: 'refused', reason: 'notAPart' });
  });

  it('requests missing parts after each silence, and expires the transfer in the end', () => {
    const { clock, reassembler } = setUp({ requestAfterMs: 5_000, timeoutMs: 60_000 });
    push(reassembler, [part(4, 1, 300, 'a'), part(4, 3, 302, 'c')]);
    clock.ms = 4_999;
    expect(reassembler.poll()).toEqual([]);
    clock.ms = 5_000;
    const missing = { kind: 'missing', terminal: 't', messageId: 0x0801, originalSerial: 300, packageIds: [2, 4] };
    expect(reassembler.poll()).toEqual([missing]);
    expect(reassembler.poll()).toEqual([]);
    clock.ms = 10_000;
    expect(reassembler.poll()).toEqual([missing]);
    const request = encodeBody(platformRetransmitRequest, { originalSerial: 300, packageIds: [2, 4] }, '2019');
    expect(decodeBody(platformRetransmitRequest, request, '2019').packageIds).toEqual([2, 4]);
    clock.ms = 60_000;
    expect(reassembler.poll()).toEqual([{ kind: 'expired', terminal: 't', messageId: 0x0801, total: 4, received: 2 }]);
    expect([reassembler.bufferedBytes, reassembler.openTransfers]).toEqual([0, 0]);
  });

  it('derives the serial of a missing part 1 from the lowest received part, also across the wrap', () => {
    const { clock, reassembler } = setUp();
    push(reassembler, [part(3, 3, 1, 'c'), part(3, 2, 0, 'b')]);
    clock.ms = 5_000;
    expect(reassembler.poll()).toMatchObject([{ originalSerial: 0xffff, packageIds: [1] }]);
  });

  it('requests no more parts than 0x8003 and 0x8800 can list', () => {
    const { clock, reassembler } = setUp();
    push(reassembler, [part(65_535, 1, 0, 'a')]);
    clock.ms = 5_000;
    const [event] = reassembler.poll();
    expect(event?.kind === 'missing' ? event.packageIds.length : 0).toBe(125);
  });

  it('allocates by the received bytes, not by the total in the header', () => {
    const { reassembler } = setUp();
    push(reassembler, [part(65_535, 1, 0, 'a')]);
    expect(reassembler.bufferedBytes).toBeLessThan(100);
  });

  it('limits the bytes of a terminal by dropping older transfers, then the transfer itself', () => {
    const { clock, reassembler } = setUp({ maxBytesPerTerminal: 3_000 });
    push(reassembler, [part(9, 1, 0, 'x'.repeat(900)), part(9, 2, 1, 'x'.repeat(900))]);
    clock.ms = 1;
    expect(push(reassembler, [part(8, 1, 2, 'y'.repeat(1000))])).toEqual(['stored']);
    expect(push(reassembler, [part(8, 2, 3, 'y'.repeat(1000))])).toEqual(['stored']);
    expect(reassembler.openTransfers).toBe(1);
    expect(push(reassembler, [part(8, 3, 4, 'y'.repeat(1000))])).toEqual(['refused']);
    expect([reassembler.bufferedBytes, reassembler.openTransfers]).toEqual([0, 0]);
  });

  it('limits the transfers of a terminal and the bytes of all terminals', () => {
    const { reassembler } = setUp({ maxTransfersPerTerminal: 2, maxBytes: 500 });
    push(reassembler, [part(5, 1, 0, 'a'), part(6, 1, 0, 'a'), part(7, 1, 0, 'a')]);
    expect(reassembler.openTransfers).toBe(2);
    expect(push(reassembler, [part(5, 1, 0, 'b'.repeat(400))], 'other')).toEqual(['refused']);
  });

  it('deletes the transfers of a terminal whose session ended', () => {
    const { clock, reassembler } = setUp();
    push(reassembler, [part(2, 1, 0, 'a')]);
    reassembler.deleteTerminal('t');
    reassembler.deleteTerminal('t');
    clock.ms = 100_000;
    expect([reassembler.bufferedBytes, reassembler.openTransfers, reassembler.poll()]).toEqual([0, 0, []]);
  });

  it('copies a part, since the memory of reads is reused', () => {
    const { reassembler } = setUp();
    const first = part(2, 1, 0, 'a');
    push(reassembler, [first]);
    first.data.fill(0);
    expect(push(reassembler, [part(2, 2, 1, 'b')])).toEqual(['ab']);
  });
});
