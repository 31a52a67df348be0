import { describe, expect, it } from '@jest/globals';
import { FrameAssembler } from './frame-assembler.ts';
import type { PacketFields } from './packet.ts';
import { createPacket, removeSpaces } from './testing/pipeline.ts';

const atomicMark = 0;
const firstMark = 1;
const lastMark = 2;
const middleMark = 3;
const audioDataType = { dataType: 3, payloadType: 6 };
const start = (first: number, ...rest: number[]): Buffer => Buffer.from([0, 0, 0, 1, first, ...rest]);

interface Row extends Partial<PacketFields> {
  nowMs?: number;
}

interface AssembledFrames {
  assembler: FrameAssembler;
  /** Body as hex, prefixed with `!` after a loss of pictures. */
  frames: string[];
  push: (rows: readonly Row[]) => void;
}

/** Pushes rows, whose sequence increments unless specified. */
function assemble(rows: readonly Row[], options: { maxFrameBytes?: number } = {}): AssembledFrames {
  const frames: string[] = [];
  const assembler = new FrameAssembler({
    ...options,
    onFrame: (frame) => frames.push((frame.discontinuity ? '!' : '') + frame.data.toString('hex')),
  });
  let sequence = -1;
  const push = (more: readonly Row[]): void => {
    for (const { nowMs = 0, ...fields } of more) {
      sequence = fields.sequence ?? (sequence + 1) & 0xffff;
      assembler.push(createPacket({ timestamp: 40, ...fields, sequence }), nowMs);
    }
  };
  push(rows);
  return { assembler, frames, push };
}

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

describe('FrameAssembler', () => {
  it('joins first, middle and last packets, ignoring M', () => {
    const train = (marker: boolean): Row[] => [
      { subpackage: firstMark, marker, body: bytes('01') },
      { subpackage: middleMark, marker, body: bytes('02') },
      { subpackage: lastMark, marker, body: bytes('0304') },
    ];
    expect(assemble(train(false)).frames).toEqual(['01020304']);
    expect(assemble(train(true)).frames).toEqual(['01020304']);
  });

  it('handles I, P and B as one kind: a new first packet ends the previous frame', () => {
    const { frames, assembler } = assemble([
      { dataType: 0, subpackage: firstMark, body: bytes('01') },
      { dataType: 1, subpackage: firstMark, body: bytes('02') },
      { dataType: 1, subpackage: lastMark, body: bytes('03') },
    ]);
    expect(frames).toEqual(['!0203']);
    expect(assembler.counters.brokenFrames).toBe(1);
  });

  it('accepts audio between the packets of a frame, with a shared sequence counter', () => {
    const { frames } = assemble([
      { subpackage: firstMark, body: bytes('01') },
      { ...audioDataType, body: bytes('aa') },
      { subpackage: lastMark, body: bytes('02') },
    ]);
    expect(frames).toEqual(['aa', '0102']);
  });

  it('accepts counters per kind and counters per frame', () => {
    const byKind = assemble([
      { sequence: 0, body: bytes('01') },
      { ...audioDataType, sequence: 0, body: bytes('aa') },
      { sequence: 1, body: bytes('02') },
      { ...audioDataType, sequence: 1, body: bytes('ab') },
    ]);
    expect(byKind.assembler.counters.sequenceGaps).toBeLessThanOrEqual(1);
    const byFrame = assemble([
      { sequence: 5, subpackage: firstMark, body: bytes('01') },
      { sequence: 5, subpackage: middleMark, body: bytes('02') },
      { sequence: 5, subpackage: lastMark, body: bytes('03') },
      { sequence: 6, body: bytes('04') },
    ]);
    expect(byFrame.frames).toEqual(['010203', '04']);
  });

  it('ignores an unusable counter after some packets', () => {
    const rows = Array.from({ length: 80 }, (): Row[] => [
      { sequence: 0, subpackage: firstMark, body: bytes('01') },
      { sequence: 0, subpackage: lastMark, body: bytes('02') },
    ]).flat();
    const { frames } = assemble(rows);
    expect(frames.slice(-20)).toEqual(Array.from({ length: 20 }, () => '0102'));
  });

  it('drops a packet repeated immediately or after a few others', () => {
    const train: Row[] = [
      { sequence: 8, subpackage: atomicMark, body: bytes('08'), timestamp: 0 },
      { sequence: 9, subpackage: firstMark, body: bytes('01') },
      { sequence: 10, subpackage: middleMark, body: bytes('02') },
      { sequence: 11, subpackage: lastMark, body: bytes('03') },
      { sequence: 12, body: bytes('04'), timestamp: 80 },
    ];
    const take = (...indexes: number[]): Row[] => indexes.map((index) => train[index] ?? {});
    for (const order of [
      [0, 1, 2, 2, 3, 4],
      [0, 1, 1, 1, 2, 3, 3, 4],
      [0, 1, 2, 3, 1, 2, 4],
      [0, 1, 2, 3, 4, 1, 2, 3, 4],
    ]) {
      const { frames, assembler } = assemble(take(...order));
      expect(frames).toEqual(['08', '010203', '04']);
      const repeatedPackets = order.length - train.length;
      expect(assembler.counters).toMatchObject({ brokenFrames: 0, sequenceGaps: 0, lostPackets: 0, repeatedPackets });
    }
  });

  it('accepts the packets of a camera that restarts its counter', () => {
    const frame = (sequence: number, timestamp: number): Row => ({
      sequence,
      timestamp,
      body: Buffer.concat([start(0x61, 0x9a), Buffer.from([timestamp / 40])]),
    });
    const rows = [0, 1, 2, 0, 1, 2, 3].map((sequence, at) => frame(sequence, at * 40));
    const { frames, assembler } = assemble(rows);
    expect(frames).toHaveLength(7);
    expect(assembler.counters.repeatedPackets).toBe(0);
  });

  it('accepts the same recording again after its counter has advanced', () => {
    const recording = Array.from({ length: 200 }, (_, sequence): Row => ({ sequence, body: Buffer.from([sequence]) }));
    expect(assemble([...recording, ...recording]).frames).toHaveLength(400);
  });

  it('wraps from 65535 to 0', () => {
    const { frames, assembler } = assemble([
      { sequence: 65_534, subpackage: firstMark, body: bytes('01') },
      { subpackage: middleMark, body: bytes('02') },
      { subpackage: lastMark, body: bytes('03') },
    ]);
    expect(frames).toEqual(['010203']);
    expect(assembler.counters.sequenceGaps).toBe(0);
  });

  it.each([
    ['first', [1, 2, 3]],
    ['middle', [0, 2, 3]],
    ['last', [0, 1, 3]],
  ])('drops a frame whose %s packet is lost, and marks the next one', (_case, present) => {
    const train: Row[] = [
      { sequence: 10, subpackage: firstMark, body: start(0x61, 0x9a) },
      { sequence: 11, subpackage: middleMark, body: bytes('02') },
      { sequence: 12, subpackage: lastMark, body: bytes('03') },
      { sequence: 13, body: bytes('04'), timestamp: 80 },
    ];
    const rows: Row[] = [{ sequence: 9, body: bytes('00') }, ...present.map((i) => train[i] ?? {})];
    const { frames, assembler } = assemble(rows);
    expect(frames).toEqual(['00', '!04']);
    expect(assembler.counters).toMatchObject({ brokenFrames: 1, sequenceGaps: 1, lostPackets: 1 });
  });

  it.each([
    ['H.264', 0x01],
    ['H.265', 0x00],
  ])('continues after a loss inside a non-reference frame (%s)', (_case, first) => {
    const { frames } = assemble([
      { sequence: 10, subpackage: firstMark, body: start(first, 0x9a) },
      { sequence: 12, subpackage: lastMark, body: bytes('03') },
      { sequence: 13, body: bytes('04') },
    ]);
    expect(frames).toEqual(['04']);
  });

  it('treats a loss between frames as a lost picture', () => {
    expect(
      assemble([
        { sequence: 1, body: bytes('01') },
        { sequence: 3, body: bytes('02') },
      ]).frames,
    ).toEqual(['01', '!02']);
  });

  it('drops middle and last packets without a first, counted once per frame', () => {
    const { frames, assembler } = assemble([
      { subpackage: middleMark, body: bytes('01') },
      { subpackage: middleMark, body: bytes('02') },
      { subpackage: lastMark, body: bytes('03') },
      { body: bytes('04') },
    ]);
    expect(frames).toEqual(['!04']);
    expect(assembler.counters.brokenFrames).toBe(1);
  });

  it('separates channels and SIMs on one connection', () => {
    const { frames } = assemble([
      { channel: 1, subpackage: firstMark, body: bytes('01') },
      { channel: 2, subpackage: firstMark, body: bytes('11') },
      { sim: '2', subpackage: firstMark, body: bytes('21') },
      { channel: 2, subpackage: lastMark, body: bytes('12') },
      { channel: 1, subpackage: lastMark, body: bytes('02') },
      { sim: '2', subpackage: lastMark, body: bytes('22') },
    ]);
    expect(frames).toEqual(['1112', '0102', '2122']);
  });

  it('does not count a gap for a second channel with its own counter', () => {
    const { frames, assembler } = assemble([
      { channel: 1, sequence: 500, subpackage: firstMark, body: bytes('01') },
      { channel: 2, sequence: 9, body: bytes('11') },
      { channel: 1, sequence: 501, subpackage: lastMark, body: bytes('02') },
      { channel: 2, sequence: 10, body: bytes('12') },
    ]);
    expect(frames).toEqual(['11', '0102', '12']);
    expect(assembler.counters.sequenceGaps).toBe(0);
  });

  it('limits a frame in size and age', () => {
    const part = { subpackage: middleMark, body: Buffer.alloc(400) };
    const large = assemble([{ ...part, subpackage: firstMark }, part, part, { body: bytes('01') }], {
      maxFrameBytes: 1000,
    });
    expect(large.frames).toEqual(['!01']);
    const old = assemble([
      { subpackage: firstMark, body: bytes('01'), nowMs: 0 },
      { subpackage: lastMark, body: bytes('02'), nowMs: 5001 },
    ]);
    expect(old.frames).toEqual([]);
    const expiring = assemble([{ subpackage: firstMark, body: bytes('01'), nowMs: 0 }]);
    expiring.assembler.expire(5001);
    expect(expiring.assembler.counters.brokenFrames).toBe(1);
  });

  it('groups packets by timestamp from the first frame when frames are split with all marks 0', () => {
    const full = (first: Buffer): Buffer => Buffer.concat([first, Buffer.alloc(950 - first.length, 0x55)]);
    const frame = (timestamp: number): Row[] => [
      { timestamp, subpackage: atomicMark, body: full(start(0x65, 0x88)) },
      { timestamp, subpackage: atomicMark, body: Buffer.alloc(950, 0x66) },
      { timestamp, subpackage: atomicMark, body: Buffer.alloc(7, 0x77) },
    ];
    const { frames, assembler } = assemble([
      ...frame(40),
      { ...audioDataType, body: bytes('aa') },
      ...frame(80),
      ...frame(120),
    ]);
    assembler.flush();
    expect(frames.map((hex) => hex.length / 2)).toEqual([1, 1907, 1907, 1907]);
  });

  it('joins slices of one picture when it groups by timestamp', () => {
    const cut = [
      { body: Buffer.concat([start(0x65, 0x88), Buffer.alloc(944, 0x55)]) },
      { body: Buffer.alloc(9, 0x66) },
    ];
    const slices = [
      { timestamp: 80, body: start(0x61, 0x9a, 1) },
      { timestamp: 80, body: start(0x61, 0x1a, 2) },
      { timestamp: 80, body: start(0x61, 0x9a, 3) },
    ];
    const { frames, assembler } = assemble([...cut, ...slices]);
    assembler.flush();
    expect(frames.slice(1)).toEqual([removeSpaces('00000001619a01 00000001611a02'), '00000001619a03']);
  });

  it('does not delay large whole frames of a device that splits none', () => {
    const whole = (i: number): Row => ({
      timestamp: i * 40,
      body: Buffer.concat([start(0x61, 0x9a), Buffer.alloc(3000, i + 1)]),
    });
    const { frames } = assemble(Array.from({ length: 20 }, (_, i) => whole(i)));
    expect(frames.length).toBe(20);
  });

  it('emits a frame that waits for its successor after a timeout', () => {
    const { frames, assembler } = assemble([
      { body: Buffer.concat([start(0x65, 0x88), Buffer.alloc(900, 1)]), nowMs: 0 },
    ]);
    expect(frames.length).toBe(0);
    assembler.expire(300);
    expect(frames.length).toBe(1);
  });

  it('emits frames from empty bodies and transparent data', () => {
    const { frames } = assemble([{ body: Buffer.alloc(0) }, { dataType: 4, payloadType: 91, body: bytes('7e') }]);
    expect(frames).toEqual(['', '7e']);
  });
});
