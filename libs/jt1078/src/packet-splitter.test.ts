import { propertyRuns, propertySettings, SeededRandom } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { encodePacket, type PacketFields } from './packet.ts';
import { PacketSplitter } from './packet-splitter.ts';
import { runTcp } from './testing/pipeline.ts';
import { hasShared, readVectors } from './testing/shared.ts';

fc.configureGlobal(propertySettings);

const base = {
  sim: '13800138000',
  channel: 1,
  payloadType: 98,
  dataType: 1,
  sequence: 0,
  timestamp: 1_700_000_000_000,
};
const slice = (...rest: number[]): Buffer => Buffer.from([0, 0, 0, 1, 0x61, ...rest]);
const packet = (fields: Partial<PacketFields>): Buffer => encodePacket({ ...base, body: slice(1, 2, 3), ...fields });
const ten = { simBytes: 10 as const, sim: '00000013800138000123' };

interface SplitResult {
  splitter: PacketSplitter;
  sequences: number[];
  sims: string[];
  bodies: string[];
}

function split(chunks: readonly Buffer[], isEnded = true): SplitResult {
  const seen = { sequences: [] as number[], sims: [] as string[], bodies: [] as string[] };
  const splitter = new PacketSplitter({
    onPacket: ({ sequence, sim, body }) => {
      seen.sequences.push(sequence);
      seen.sims.push(sim);
      seen.bodies.push(body.toString('hex'));
    },
  });
  for (const chunk of chunks) splitter.push(chunk);
  if (isEnded) splitter.flush();
  return { splitter, ...seen };
}

const inChunks = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

describe('PacketSplitter', () => {
  it('splits by the length field, ignoring a magic inside a body', () => {
    const inner = packet({ sequence: 99 });
    const bytes = Buffer.concat([
      packet({ sequence: 1, body: Buffer.concat([slice(), inner]) }),
      packet({ sequence: 2 }),
    ]);
    expect(split([bytes]).sequences).toEqual([1, 2]);
  });

  it('emits a packet as soon as it is complete, without waiting for the next one', () => {
    const { splitter, sequences } = split([packet({ sequence: 1 }), packet({ sequence: 2 })], false);
    splitter.push(packet({ sequence: 3 }));
    expect(sequences).toEqual([1, 2, 3]);
    expect(splitter.pendingBytes).toBe(0);
  });

  it('does not wait for 30 bytes of a transparent packet, the shortest kind', () => {
    const transparent = { payloadType: 91, dataType: 4, body: Buffer.alloc(0) };
    const { sequences } = split(
      [packet({ sequence: 1 }), packet({ sequence: 2 }), packet({ ...transparent, sequence: 3 })],
      false,
    );
    expect(sequences).toEqual([1, 2, 3]);
  });

  it('accepts bodies from empty to the limit of the length field', () => {
    const bytes = Buffer.concat(
      [0, 1401, 65_535, 0].map((length, sequence) => packet({ sequence, body: Buffer.alloc(length) })),
    );
    for (const size of [bytes.length, 1000, 65_536])
      expect(split(inChunks(bytes, size)).sequences).toEqual([0, 1, 2, 3]);
  });

  it('accepts the magic with its top bit set', () => {
    const odd = packet({ sequence: 2 });
    odd[0] = 0xb0;
    expect(split([Buffer.concat([packet({ sequence: 1 }), odd, packet({ sequence: 3 })])]).sequences).toEqual([
      1, 2, 3,
    ]);
  });

  it.each([
    ['6 bytes', {}, '013800138000'],
    ['6 bytes that begin with two zero bytes', { sim: '1003' }, '000000001003'],
    ['10 bytes', ten, ten.sim],
    ['10 bytes with an IMEI', { simBytes: 10 as const, sim: '860112345678901' }, '00000860112345678901'],
  ])('detects a SIM width of %s', (_case, fields, sim) => {
    const audio = { dataType: 3, payloadType: 6, body: Buffer.alloc(320, 0xd5) };
    const bytes = Buffer.concat([
      packet({ ...fields, ...audio, sequence: 0 }),
      packet({
        ...fields,
        sequence: 1,
        dataType: 0,
        subpackage: 1,
        body: Buffer.concat([slice(), Buffer.alloc(945, 7)]),
      }),
      packet({ ...fields, sequence: 2, dataType: 0, subpackage: 2 }),
      packet({ ...fields, ...audio, sequence: 3 }),
    ]);
    for (const size of [1, 7, 29, 1000, bytes.length]) {
      const seen = split(inChunks(bytes, size));
      expect(seen.sequences).toEqual([0, 1, 2, 3]);
      expect(new Set(seen.sims)).toEqual(new Set([sim]));
      expect(seen.splitter.counters).toMatchObject({ packets: 4, skippedBytes: 0, resyncs: 0 });
    }
  });

  it('detects the width immediately if the other is impossible, or by the end of the data when the connection is quiet', () => {
    // Read with a 6-byte SIM this has data type 5.
    const impossibleWithSix = Buffer.from(
      '3031636481e200760000086649607758216401100000018f000000000028002800050000000161',
      'hex',
    );
    expect(split([impossibleWithSix], false).sims).toEqual(['00000866496077582164']);
    const lone = packet({ ...ten, sequence: 5, dataType: 3, payloadType: 6, body: Buffer.alloc(160, 0xd5) });
    expect(split([lone]).sequences).toEqual([5]);
  });

  it('retains the width for the connection', () => {
    const { splitter } = split([packet({ ...ten }), packet({ ...ten, sequence: 1 })]);
    expect(splitter.simBytes).toBe(10);
  });

  it('finds the next packet after garbage that contains magics, and counts the skipped bytes', () => {
    const garbage = Buffer.concat([
      Buffer.from('garbage'),
      Buffer.from('30316364'),
      Buffer.alloc(40, 0x11),
      Buffer.from('3031636481', 'hex'),
    ]);
    const bytes = Buffer.concat([
      packet({ sequence: 1 }),
      packet({ sequence: 2 }),
      garbage,
      packet({ sequence: 3 }),
      packet({ sequence: 4 }),
    ]);
    for (const size of [1, 3, 50, bytes.length]) {
      const seen = split(inChunks(bytes, size));
      expect(seen.sequences).toEqual([1, 2, 3, 4]);
      expect(seen.splitter.counters).toMatchObject({ skippedBytes: garbage.length, resyncs: 1 });
      expect(seen.splitter.giveUpReason).toBeNull();
    }
  });

  it('skips garbage that begins with the magic, whose length would swallow the next packets', () => {
    const garbage = packet({ sequence: 3, body: slice(...Buffer.alloc(600)) }).subarray(0, 200);
    garbage[10] = 0xca; // not a digit of a terminal number
    const bytes = Buffer.concat([
      packet({ sequence: 1 }),
      packet({ sequence: 2 }),
      garbage,
      ...[4, 5, 6, 7].map((sequence) => packet({ sequence })),
    ]);
    for (const size of [1, 7, 64, bytes.length]) {
      const { sequences, splitter } = split(inChunks(bytes, size));
      expect(sequences).toEqual([1, 2, 4, 5, 6, 7]);
      expect(splitter.counters).toMatchObject({ skippedBytes: 200, resyncs: 1 });
    }
  });

  it('starts in the middle of a packet', () => {
    const bytes = Buffer.concat([
      packet({ sequence: 1 }).subarray(13),
      packet({ sequence: 2 }),
      packet({ sequence: 3 }),
    ]);
    expect(split([bytes]).sequences).toEqual([2, 3]);
  });

  it('loses only the packet with an invalid data type', () => {
    const bad = packet({ sequence: 2 });
    bad[15] = 0x90;
    const bytes = Buffer.concat([packet({ sequence: 1 }), bad, packet({ sequence: 3 }), packet({ sequence: 4 })]);
    expect(split([bytes]).sequences).toEqual([1, 3, 4]);
  });

  it('gives up on a peer that never sends a packet, and on endless garbage', () => {
    const neverValid = split([Buffer.alloc(70_000, 0x41)]);
    expect(neverValid.splitter.giveUpReason).toBe('noPacket');
    const later = split([packet({ sequence: 1 }), packet({ sequence: 2 }), Buffer.alloc(1_100_000, 0x41)]);
    expect(later.splitter.giveUpReason).toBe('tooMuchGarbage');
    later.splitter.push(packet({ sequence: 3 }));
    expect(later.sequences).toEqual([1, 2]);
    expect(later.splitter.pendingBytes).toBe(0);
  });

  it('emits nothing after close, which may be called inside the callback', () => {
    const sequences: number[] = [];
    const splitter: PacketSplitter = new PacketSplitter({
      simBytes: 6,
      onPacket: ({ sequence }) => {
        sequences.push(sequence);
        splitter.close();
      },
    });
    splitter.push(Buffer.concat([packet({ sequence: 1 }), packet({ sequence: 2 })]));
    splitter.push(packet({ sequence: 3 }));
    expect(sequences).toEqual([1]);
  });

  it('emits the same packets regardless of chunk sizes', () => {
    const random = new SeededRandom(7);
    const bytes = Buffer.concat(
      Array.from({ length: 60 }, (_, sequence) => {
        const dataType = [0, 1, 3, 4, 1][sequence % 5] ?? 1;
        const body = Buffer.from(
          Array.from({ length: Math.floor(random.next() * 400) }, () => Math.floor(random.next() * 256)),
        );
        return packet({ sequence, dataType, body: dataType < 3 ? Buffer.concat([slice(), body]) : body });
      }),
    );
    const whole = split([bytes]);
    expect(whole.sequences.length).toBe(60);
    for (let size = 1; size < 130; size++) expect(split(inChunks(bytes, size)).bodies).toEqual(whole.bodies);
  });

  it('neither throws nor buffers without limit on random and modified bytes', () => {
    const good = Buffer.concat(
      Array.from({ length: 20 }, (_, sequence) => packet({ sequence, body: Buffer.alloc(50, sequence) })),
    );
    const mutation = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 30 });
    fc.assert(
      fc.property(
        mutation,
        fc.uint8Array({ maxLength: 300 }),
        fc.integer({ min: 1, max: 500 }),
        (changes, noise, size) => {
          const bytes = Buffer.concat([good, Buffer.from(noise), good]);
          for (const [at, value] of changes) bytes[at] = value;
          const seen = split(inChunks(bytes, size));
          expect(seen.splitter.pendingBytes).toBeLessThanOrEqual(65_573);
          expect(seen.splitter.counters.bytes).toBe(bytes.length);
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('converts random bytes to tags without throwing', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(4), fc.nat(3), fc.nat(127), fc.uint8Array({ maxLength: 80 })), { maxLength: 40 }),
        (rows) => {
          const bytes = rows.map(([dataType, subpackage, payloadType, body], sequence) =>
            packet({
              dataType,
              subpackage,
              payloadType: payloadType > 60 ? 98 + (payloadType & 1) : payloadType,
              sequence,
              body: Buffer.concat([slice(), body]),
            }),
          );
          const { tags } = runTcp(Buffer.concat(bytes));
          expect(tags.every((tag) => tag.timestampMs >= 0)).toBe(true);
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });
});

const describeShared = hasShared ? describe : describe.skip;
describeShared('stream vectors', () => {
  const vectors = hasShared ? readVectors() : { packets: [], streams: [], byte_vectors: [] };

  it('splits every stream vector as specified, regardless of chunk sizes', () => {
    expect(vectors.streams.length).toBeGreaterThan(0);
    for (const { id, hex, expect: stated } of vectors.streams) {
      const bytes = Buffer.from(hex, 'hex');
      for (let size = 1; size <= bytes.length; size++) {
        const seen = split(inChunks(bytes, size));
        expect({ id, sequences: seen.sequences }).toEqual({ id, sequences: stated.sequences });
        expect(seen.bodies.map((body) => body.length / 2)).toEqual(stated.body_lengths);
        expect(seen.splitter.pendingBytes).toBe(stated.leftover_bytes ?? seen.splitter.pendingBytes);
      }
    }
  });

  it('detects the SIM width of every packet vector that is sent twice on a connection', () => {
    for (const { id, hex, expect: stated } of vectors.packets) {
      const bytes = Buffer.from(hex, 'hex');
      const seen = split([bytes, bytes]);
      expect({ id, sims: seen.sims }).toEqual({ id, sims: [stated.sim, stated.sim] });
    }
  });
});
