import { SeededRandom } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { DatagramReader } from './datagram-reader.ts';
import { FrameAssembler } from './frame-assembler.ts';
import { encodePacket, type MediaPacket } from './packet.ts';
import { ReorderWindow } from './reorder-window.ts';
import { createPacket, packetizeFrames, runTcp } from './testing/pipeline.ts';

const datagram = (sequence: number, extra: { simBytes?: 6 | 10; sim?: string } = {}): Buffer =>
  encodePacket({
    sim: '13800138000',
    channel: 1,
    payloadType: 98,
    dataType: 1,
    sequence,
    timestamp: 1_700_000_000_000,
    body: Buffer.from([0, 0, 0, 1, 0x61, sequence & 0xff]),
    ...extra,
  });

function read(datagrams: readonly Buffer[]): { reader: DatagramReader; packets: MediaPacket[] } {
  const packets: MediaPacket[] = [];
  const reader = new DatagramReader({ onPacket: (packet) => packets.push(packet) });
  for (const each of datagrams) reader.push(each);
  return { reader, packets };
}

describe('DatagramReader', () => {
  it('reads one or several packets per datagram', () => {
    const { packets, reader } = read([datagram(1), Buffer.concat([datagram(2), datagram(3)])]);
    expect(packets.map((packet) => packet.sequence)).toEqual([1, 2, 3]);
    expect(reader.counters).toEqual({ datagrams: 2, packets: 3, droppedDatagrams: 0 });
  });

  it('detects the SIM width from the end of the first datagram', () => {
    const sim = '00000013800138000123';
    const { packets, reader } = read([datagram(1, { simBytes: 10, sim })]);
    expect(packets.map((packet) => packet.sim)).toEqual([sim]);
    expect(reader.simBytes).toBe(10);
  });

  it('drops truncated, empty and foreign datagrams without misdetecting the SIM width', () => {
    const sim = '00000013800138000123';
    const whole = datagram(1, { simBytes: 10, sim });
    const cut = Array.from({ length: whole.length }, (_, length) => whole.subarray(0, length));
    const { packets, reader } = read([...cut, Buffer.from('hello'), whole]);
    expect(packets.at(-1)?.sim).toBe(sim);
    // Cut after 30 bytes it is a valid empty packet with a 6-byte SIM; nothing in it shows the truncation.
    expect(packets.length).toBe(2);
    expect(reader.counters.droppedDatagrams).toBe(cut.length);
  });
});

interface Ordered {
  window: ReorderWindow;
  sequences: number[];
}

function createWindow(size = 64, maxDelayMs = 150): Ordered {
  const sequences: number[] = [];
  const window = new ReorderWindow({ size, maxDelayMs, onPacket: (packet) => sequences.push(packet.sequence) });
  return { window, sequences };
}

describe('ReorderWindow', () => {
  const push = (window: ReorderWindow, sequences: readonly number[], nowMs = 0): void => {
    for (const sequence of sequences) window.push(createPacket({ sequence }), nowMs);
  };

  it('reorders packets across the wrap and at the start, and drops duplicates', () => {
    const first = createWindow();
    push(first.window, [1, 0, 2, 2, 4, 4, 3, 0]);
    expect(first.sequences).toEqual([0, 1, 2, 3, 4]);
    expect(first.window.counters).toMatchObject({ duplicates: 3, lost: 0, late: 0 });
    const wrapping = createWindow();
    push(wrapping.window, [65_533, 65_535, 65_534, 1, 0, 2]);
    expect(wrapping.sequences).toEqual([65_533, 65_534, 65_535, 0, 1, 2]);
  });

  it('declares a loss at the reported deadline', () => {
    const { window, sequences } = createWindow();
    push(window, [100, 102, 103], 1000);
    expect(sequences).toEqual([100]);
    expect(window.deadlineMs).toBe(1150);
    window.expire(1149);
    expect(sequences).toEqual([100]);
    window.expire(1150);
    expect(sequences).toEqual([100, 102, 103]);
    expect(window.counters.lost).toBe(1);
    expect(window.deadlineMs).toBeNull();
    push(window, [101], 1160);
    expect(window.counters.late).toBe(1);
    expect(sequences).toEqual([100, 102, 103]);
  });

  it('declares a loss when the window is full', () => {
    const { window, sequences } = createWindow(4);
    push(window, [100, 102, 103, 104, 105, 106]);
    expect(sequences).toEqual([100, 102, 103, 104, 105, 106]);
    expect(window.counters.lost).toBe(1);
  });

  it('follows a terminal that restarts its counter', () => {
    const far = createWindow();
    push(far.window, [30_000, 30_001, 0, 1, 2]);
    expect(far.sequences).toEqual([30_000, 30_001, 0, 1, 2]);
    const near = createWindow();
    push(near.window, [200, 201, ...Array.from({ length: 30 }, (_, i) => i)]);
    expect(near.sequences.slice(0, 3)).toEqual([200, 201, 15]);
    expect(near.sequences.at(-1)).toBe(29);
    expect(near.window.counters.restarts).toBe(1);
  });

  it('delivers whole frames from a reordered stream with duplicates, and counts losses of a lossy one', () => {
    const frames = Array.from({ length: 120 }, (_, i) => ({
      data: Buffer.concat([
        Buffer.from([0, 0, 0, 1, i % 10 === 0 ? 0x65 : 0x61, 0x80]),
        Buffer.alloc(i % 10 === 0 ? 4000 : 700, i + 1),
      ]),
      dataType: i % 10 === 0 ? 0 : 1,
      payloadType: 98,
      timestampMs: i * 40,
    }));
    const packets = packetizeFrames(frames, { sequence: 65_500 });
    const expected = runTcp(Buffer.concat(packets)).frames.map((frame) => frame.data.toString('hex'));
    expect(expected.length).toBe(120);
    const play = (loss: number): { frames: string[]; lost: number; broken: number } => {
      const random = new SeededRandom(3);
      const arriving = packets
        .map((bytes, i) => ({ bytes, at: i === 0 ? -1 : i + random.next() * 8 }))
        .flatMap((each) => (random.next() < 0.1 ? [each, { ...each, at: each.at + 2 }] : [each]))
        .filter(() => random.next() >= loss)
        .sort((a, b) => a.at - b.at);
      const joined: string[] = [];
      const assembler = new FrameAssembler({ onFrame: (frame) => joined.push(frame.data.toString('hex')) });
      const window = new ReorderWindow({ onPacket: (packet) => assembler.push(packet, 0) });
      const reader = new DatagramReader({ onPacket: (packet) => window.push(packet, 0) });
      for (const { bytes } of arriving) reader.push(bytes);
      window.flush();
      assembler.flush();
      return { frames: joined, lost: window.counters.lost, broken: assembler.counters.brokenFrames };
    };
    const clean = play(0);
    expect(clean.frames).toEqual(expected);
    expect(clean.lost).toBe(0);
    const lossy = play(0.05);
    expect(lossy.lost).toBeGreaterThan(0);
    expect(lossy.broken).toBeGreaterThan(0);
    expect(lossy.frames.every((frame) => expected.includes(frame))).toBe(true);
  });
});
