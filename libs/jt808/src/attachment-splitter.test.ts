import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { AttachmentSplitter, type AttachmentSplitterOptions, encodeAttachmentPacket } from './attachment-splitter.ts';
import { encodeFrame } from './frame.ts';

fc.configureGlobal(propertySettings);

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const frame = (serial: number, body: Buffer = Buffer.alloc(0)): Buffer =>
  encodeFrame({ messageId: 0x1212, phone: '013912345678', serial, body });

const fileName = '00_65_6502_0_0123456789abcdef0123456789abcdef.jpg';
/** T/JSATL 12-2017 table 4-26, written by hand: a name of 5 bytes, offset 0x10000, 3 bytes. */
const golden = hex(`30316364 612e6a7067 ${'00'.repeat(45)} 00010000 00000003 7e3031`);

type SplitResult =
  | { kind: 'frame'; serial: number; body: string }
  | { kind: 'data'; name: string; offset: number; data: string };

/** Splits the reads and joins the pieces of each packet's data. */
function split(reads: readonly Uint8Array[], options: AttachmentSplitterOptions = {}) {
  const splitter = new AttachmentSplitter(options);
  const seen: SplitResult[] = [];
  const packets: object[] = [];
  let latest: object | null = null;
  let mostPending = 0;
  for (const read of reads) {
    splitter.push(Buffer.from(read), {
      onFrame: ({ serial, body }) => {
        seen.push({ kind: 'frame', serial, body: body.toString('hex') });
        latest = null;
      },
      onData: (packet, offset, data) => {
        const last = seen.at(-1);
        if (latest === packet && last?.kind === 'data') {
          if (offset !== last.offset + last.data.length / 2)
            throw new Error('a piece does not follow the previous one');
          last.data += data.toString('hex');
          return;
        }
        latest = packet;
        packets.push(packet);
        if (offset !== packet.offset) throw new Error('a packet does not begin at its stated offset');
        seen.push({ kind: 'data', name: packet.name, offset, data: data.toString('hex') });
      },
    });
    mostPending = Math.max(mostPending, splitter.pendingBytes);
  }
  return { seen, packets, splitter, mostPending };
}

const cut = (bytes: Buffer, borders: readonly number[]): Buffer[] => {
  const all = [0, ...borders.filter((at) => at < bytes.length).sort((a, b) => a - b), bytes.length];
  return all.slice(1).map((end, index) => bytes.subarray(all[index], end));
};

describe('raw data packet (T/JSATL 12-2017 table 4-26)', () => {
  it('decodes the golden bytes and encodes to them', () => {
    const { seen, packets, splitter } = split([golden]);
    expect(seen).toEqual([{ kind: 'data', name: 'a.jpg', offset: 0x1_0000, data: '7e3031' }]);
    expect(packets).toEqual([{ name: 'a.jpg', isNameFull: false, offset: 0x1_0000, length: 3 }]);
    expect([splitter.pendingBytes, splitter.invalidPackets, splitter.dropped.garbage]).toEqual([0, 0, 0]);
    expect(encodeAttachmentPacket('a.jpg', 0x1_0000, hex('7e3031')).toString('hex')).toBe(golden.toString('hex'));
  });

  it.each([
    ['spaces', '20'],
    ['NULs', '00'],
  ])('decodes a name padded with %s', (_name, filler) => {
    const packet = Buffer.concat([hex(`30316364 612e6a7067 ${filler.repeat(45)}`), hex('00000000 00000001 aa')]);
    expect(split([packet]).packets).toMatchObject([{ name: 'a.jpg', isNameFull: false }]);
  });

  it('marks a name that fills its field as possibly cut', () => {
    const long = `${'n'.repeat(60)}.jpg`;
    const { packets } = split([encodeAttachmentPacket(long, 0, hex('00'))]);
    expect(packets).toMatchObject([{ name: 'n'.repeat(50), isNameFull: true }]);
  });

  it('accepts an empty packet and rejects a packet above the size limit', () => {
    const empty = encodeAttachmentPacket(fileName, 5, Buffer.alloc(0));
    expect(split([empty, frame(1)]).seen).toMatchObject([{ kind: 'frame', serial: 1 }]);
    const large = encodeAttachmentPacket(fileName, 0, Buffer.alloc(101, 1));
    const { seen, splitter } = split([large, frame(2)], { maxPacketBytes: 100 });
    expect(seen).toMatchObject([{ kind: 'frame', serial: 2 }]);
    expect([splitter.invalidPackets, splitter.dropped.garbage]).toEqual([1, 1]);
  });
});

describe('AttachmentSplitter', () => {
  const alarmNo = hex('30316364303163643031636430316364');

  it('treats flags and marks inside data as data, and marks inside a frame as its body', () => {
    const data = Buffer.concat([frame(9), golden, hex('7e7e30316364')]);
    const stream = Buffer.concat([frame(1, alarmNo), encodeAttachmentPacket(fileName, 0, data), frame(2)]);
    expect(split([stream]).seen).toEqual([
      { kind: 'frame', serial: 1, body: alarmNo.toString('hex') },
      { kind: 'data', name: fileName, offset: 0, data: data.toString('hex') },
      { kind: 'frame', serial: 2, body: '' },
    ]);
  });

  it('passes data as views on the read', () => {
    const stream = Buffer.concat([frame(1), encodeAttachmentPacket(fileName, 0, Buffer.alloc(70_000, 3))]);
    const memories = new Set<unknown>();
    new AttachmentSplitter().push(stream, {
      onFrame: () => undefined,
      onData: (_packet, _offset, data) => memories.add(data.buffer),
    });
    expect([...memories]).toEqual([stream.buffer]);
  });

  it('accepts frames that share a flag, also before and after packets', () => {
    const stream = Buffer.concat([frame(1), frame(2).subarray(1), golden, frame(3), frame(4).subarray(1), golden]);
    expect(split([stream]).seen.map((each) => (each.kind === 'frame' ? each.serial : each.name))).toEqual([
      1,
      2,
      'a.jpg',
      3,
      4,
      'a.jpg',
    ]);
  });

  it('accepts a frame that begins like a mark', () => {
    const odd = encodeFrame({ messageId: 0x3031, phone: '013912345678', serial: 7 });
    for (let at = 0; at <= odd.length; at += 1)
      expect(split(cut(Buffer.concat([frame(1), odd.subarray(1)]), [at])).seen).toMatchObject([
        { serial: 1 },
        { serial: 7 },
      ]);
  });

  it('resynchronises after bytes that are neither frame nor packet, and counts each range once', () => {
    const noise = hex('0102 30 03 3031 04 303163 05 30');
    const stream = Buffer.concat([noise, frame(1), golden, noise, golden, noise, frame(2)]);
    const { seen, splitter } = split([stream]);
    expect(seen.map(({ kind }) => kind)).toEqual(['frame', 'data', 'data', 'frame']);
    expect(splitter.dropped.garbage).toBe(3);
  });

  it('never buffers more than one frame or one packet head', () => {
    const endless = encodeAttachmentPacket(fileName, 0, Buffer.alloc(1_000_000, 1));
    const noFlag = Buffer.concat([hex('7e'), Buffer.alloc(1_000_000, 0x31)]);
    for (const bytes of [endless, noFlag, Buffer.alloc(1_000_000, 0x30)]) {
      const reads = Array.from({ length: 100 }, (_, i) => bytes.subarray(i * 10_000, (i + 1) * 10_000));
      expect(split(reads).mostPending).toBeLessThanOrEqual(2_090);
    }
  });

  it('returns the same result however the stream is cut into reads', () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((data) => Buffer.from(data));
    const streamUnit = fc.oneof(
      fc.record({ kind: fc.constant('frame' as const), serial: fc.nat(0xffff), body: bytes }),
      fc.record({
        kind: fc.constant('data' as const),
        name: fc.constantFrom(fileName, 'a.jpg', '02_1_6401_1_x.mp4'),
        offset: fc.nat(0xffff_ffff),
        data: fc.oneof(bytes, fc.constantFrom(golden, frame(3), hex('7e30316364'))).filter((data) => data.length > 0),
      }),
    );
    fc.assert(
      fc.property(fc.array(streamUnit, { maxLength: 8 }), fc.array(fc.nat(2_000)), (units, borders) => {
        const stream = Buffer.concat(
          units.map((each) =>
            each.kind === 'frame'
              ? frame(each.serial, each.body)
              : encodeAttachmentPacket(each.name, each.offset, each.data),
          ),
        );
        const { seen, splitter } = split(cut(stream, borders));
        expect(seen).toEqual(
          units.map((each) =>
            each.kind === 'frame'
              ? { kind: 'frame', serial: each.serial, body: each.body.toString('hex') }
              : { kind: 'data', name: each.name, offset: each.offset, data: each.data.toString('hex') },
          ),
        );
        expect([splitter.invalidPackets, splitter.dropped.garbage, splitter.pendingBytes]).toEqual([0, 0, 0]);
      }),
      { numRuns: propertyRuns(400) },
    );
  });

  it('returns the same result for a damaged stream however it is cut into reads', () => {
    const streamPiece = fc.oneof(
      fc.constantFrom(frame(1), frame(2, alarmNo), golden, hex('7e'), hex('303163'), hex('30316364')),
      fc.uint8Array({ maxLength: 30 }).map((data) => Buffer.from(data)),
    );
    fc.assert(
      fc.property(fc.array(streamPiece, { maxLength: 10 }), fc.array(fc.nat(600)), (pieces, borders) => {
        const stream = Buffer.concat(pieces);
        const whole = split([stream], { maxPacketBytes: 4_096 });
        const parts = split(cut(stream, borders), { maxPacketBytes: 4_096 });
        expect(parts.seen).toEqual(whole.seen);
        expect(parts.splitter.dropped).toEqual(whole.splitter.dropped);
        expect(parts.splitter.invalidPackets).toBe(whole.splitter.invalidPackets);
      }),
      { numRuns: propertyRuns(600) },
    );
  });
});
