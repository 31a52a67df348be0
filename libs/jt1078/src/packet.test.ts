import { propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { encodePacket, packetizeFrame } from './packet.ts';
import { DataType, getPayloadTypeName, SubpackageMark } from './tables.ts';
import { getPacketTimestamp, parsePacket } from './testing/parse-packet.ts';
import { removeSpaces } from './testing/pipeline.ts';
import { hasShared, readVectors, sha256 } from './testing/shared.ts';

fc.configureGlobal(propertySettings);

// Encoded by hand from JT/T 1078-2016 table 19.
const golden: [string, Parameters<typeof encodePacket>[0], string][] = [
  [
    'video, I frame, 6-byte SIM',
    {
      sim: '13800138000',
      channel: 1,
      payloadType: 98,
      dataType: DataType.I,
      sequence: 1,
      timestamp: 1000,
      lastIFrameIntervalMs: 2000,
      lastFrameIntervalMs: 40,
      body: Buffer.from('000000016742', 'hex'),
    },
    removeSpaces('30316364 81 e2 0001 013800138000 01 00 00000000000003e8 07d0 0028 0006 000000016742'),
  ],
  [
    'audio, 10-byte SIM, marker clear',
    {
      sim: '00000000014482607571',
      channel: 2,
      payloadType: 6,
      dataType: DataType.AUDIO,
      sequence: 0xffff,
      timestamp: 0x0100_0000_0001n,
      marker: false,
      body: Buffer.from('d5d5', 'hex'),
    },
    removeSpaces('30316364 81 06 ffff 00000000014482607571 02 30 0000010000000001 0002 d5d5'),
  ],
  [
    'transparent data without time and intervals',
    {
      sim: '1',
      channel: 0,
      payloadType: 91,
      dataType: DataType.TRANSPARENT,
      sequence: 2,
      body: Buffer.from('7e', 'hex'),
    },
    removeSpaces('30316364 81 db 0002 000000000001 00 40 0001 7e'),
  ],
];

describe('packet codec (JT/T 1078-2016 table 19)', () => {
  it.each(golden)('encodes to the reference bytes and parses them: %s', (_case, fields, hex) => {
    const packet = encodePacket(fields);
    expect(packet.toString('hex')).toBe(hex);
    const parsed = parsePacket(packet, fields.sim.length > 12 ? 10 : 6);
    expect(parsed?.sim).toBe(fields.sim.padStart(fields.sim.length > 12 ? 20 : 12, '0'));
    expect(parsed).toMatchObject({
      channel: fields.channel,
      payloadType: fields.payloadType,
      dataType: fields.dataType,
      sequence: fields.sequence,
      marker: fields.marker ?? true,
      lastIFrameIntervalMs: fields.lastIFrameIntervalMs ?? null,
    });
    expect(parsed?.body.equals(Buffer.from(fields.body))).toBe(true);
  });

  it('accepts the magic with its top bit set, and any byte 4', () => {
    const packet = encodePacket({
      sim: '1',
      channel: 1,
      payloadType: 98,
      dataType: 1,
      sequence: 0,
      body: Buffer.alloc(1),
    });
    packet[0] = 0xb0;
    packet[4] = 0x00;
    expect(parsePacket(packet, 6)).toMatchObject({ flags: 0, channel: 1 });
  });

  it('returns null for a truncated packet and for undefined data types', () => {
    const packet = encodePacket({
      sim: '1',
      channel: 1,
      payloadType: 98,
      dataType: 1,
      sequence: 0,
      body: Buffer.alloc(9),
    });
    for (let length = 0; length < packet.length; length++)
      expect(parsePacket(packet.subarray(0, length), 6)).toBeNull();
    packet[15] = 0x50;
    expect(parsePacket(packet, 6)).toBeNull();
  });

  it('rejects fields that do not fit', () => {
    const fields = { sim: '1', channel: 1, payloadType: 98, dataType: 1, sequence: 0, body: Buffer.alloc(0) };
    expect(() => encodePacket({ ...fields, dataType: 5 })).toThrow(/data type 5/);
    expect(() => encodePacket({ ...fields, sim: '12a' })).toThrow(/SIM/);
    expect(() => encodePacket({ ...fields, sim: '1234567890123', simBytes: 6 })).toThrow(/SIM/);
    expect(() => encodePacket({ ...fields, body: Buffer.alloc(65_536) })).toThrow(/65536/);
    expect(() => packetizeFrame({ ...fields, data: Buffer.alloc(1), maxBody: 0 })).toThrow(/maxBody/);
  });

  it('names payload types as in table 12', () => {
    expect([6, 8, 19, 26, 98, 99, 91].map(getPayloadTypeName)).toEqual([
      'G711A',
      'G726',
      'AAC',
      'ADPCMA',
      'H264',
      'H265',
      'TRANSPARENT',
    ]);
    expect(getPayloadTypeName(110)).toBe('PT110');
  });

  it('splits a frame into first, middle and last packets, with the marker on the last', () => {
    const frame = { sim: '1', channel: 1, payloadType: 98, dataType: 0, sequence: 65_534, timestamp: 5 };
    const marks = (bytes: number): number[][] =>
      packetizeFrame({ ...frame, data: Buffer.alloc(bytes) }).map((bytes) => {
        const packet = parsePacket(bytes, 6);
        return [packet?.sequence ?? -1, packet?.subpackage ?? -1, packet?.marker ? 1 : 0, packet?.body.length ?? -1];
      });
    expect(marks(0)).toEqual([[65_534, 0, 1, 0]]);
    expect(marks(950)).toEqual([[65_534, 0, 1, 950]]);
    expect(marks(951)).toEqual([
      [65_534, 1, 0, 950],
      [65_535, 2, 1, 1],
    ]);
    expect(marks(2000)).toEqual([
      [65_534, 1, 0, 950],
      [65_535, 3, 0, 950],
      [0, 2, 1, 100],
    ]);
  });

  it('parses every encoded packet of both SIM widths to equal fields', () => {
    const fields = fc.record({
      simBytes: fc.constantFrom(6 as const, 10 as const),
      digits: fc.bigInt({ min: 0n, max: 10n ** 12n - 1n }),
      channel: fc.nat(255),
      payloadType: fc.nat(127),
      dataType: fc.nat(4),
      subpackage: fc.nat(3),
      sequence: fc.nat(65_535),
      timestamp: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      lastIFrameIntervalMs: fc.nat(65_535),
      lastFrameIntervalMs: fc.nat(65_535),
      marker: fc.boolean(),
      flags: fc.nat(255),
      body: fc.uint8Array({ maxLength: 2000 }),
    });
    fc.assert(
      fc.property(fields, ({ digits, ...rest }) => {
        const sim = digits.toString().padStart(rest.simBytes * 2, '0');
        const parsed = parsePacket(encodePacket({ ...rest, sim }), rest.simBytes);
        if (!parsed) throw new Error('could not parse the packet');
        const isVideo = rest.dataType <= DataType.B;
        expect({ ...parsed, body: [...parsed.body], timestamp: getPacketTimestamp(parsed) }).toMatchObject({
          ...rest,
          sim,
          body: [...rest.body],
          timestamp: rest.dataType === DataType.TRANSPARENT ? null : rest.timestamp,
          lastIFrameIntervalMs: isVideo ? rest.lastIFrameIntervalMs : null,
          lastFrameIntervalMs: isVideo ? rest.lastFrameIntervalMs : null,
        });
      }),
    );
  });
});

const describeShared = hasShared ? describe : describe.skip;
describeShared('packet vectors', () => {
  const vectors = hasShared ? readVectors() : { packets: [], streams: [], byte_vectors: [] };

  it('reads packet and byte vectors', () => {
    expect(vectors.packets.length).toBeGreaterThan(20);
    expect(vectors.byte_vectors.length).toBeGreaterThan(0);
  });

  it('parses every packet vector as specified and encodes it to the same bytes', () => {
    for (const { id, hex, expect: stated } of vectors.packets) {
      const bytes = Buffer.from(hex, 'hex');
      const packet = parsePacket(bytes, stated.sim_bytes);
      if (!packet) throw new Error(`could not parse ${id}`);
      const read = {
        id,
        v: packet.flags >> 6,
        p: (packet.flags >> 5) & 1,
        x: (packet.flags >> 4) & 1,
        cc: packet.flags & 0x0f,
        marker: packet.marker ? 1 : 0,
        payload_type: packet.payloadType,
        sequence: packet.sequence,
        sim: packet.sim,
        sim_bytes: packet.simBytes,
        channel: packet.channel,
        data_type: packet.dataType,
        subpackage: packet.subpackage,
        timestamp: getPacketTimestamp(packet)?.toString() ?? null,
        last_i_frame_interval: packet.lastIFrameIntervalMs,
        last_frame_interval: packet.lastFrameIntervalMs,
        header_bytes: packet.headerBytes,
        body_length: packet.body.length,
        packet_bytes: packet.headerBytes + packet.body.length,
        body_sha256: sha256(packet.body),
      };
      const timestamp = stated.timestamp === null ? null : String(stated.timestamp);
      expect({ ...stated, ...read }).toEqual({ ...stated, timestamp, id });
      expect(encodePacket({ ...packet, timestamp: getPacketTimestamp(packet) ?? 0 }).equals(bytes)).toBe(true);
    }
  });

  it('parses every single-byte vector as specified', () => {
    for (const { field, byte, expect: stated } of vectors.byte_vectors) {
      const at = Number(/byte (\d+)/.exec(field)?.[1]);
      const bytes = encodePacket({
        sim: '1',
        channel: 1,
        payloadType: 0,
        dataType: 1,
        sequence: 0,
        body: Buffer.alloc(0),
      });
      bytes[at] = byte;
      const packet = parsePacket(bytes, 6);
      if (!packet) throw new Error('could not parse the packet');
      const read: Record<string, number> = {
        v: packet.flags >> 6,
        p: (packet.flags >> 5) & 1,
        x: (packet.flags >> 4) & 1,
        cc: packet.flags & 0x0f,
        marker: packet.marker ? 1 : 0,
        payload_type: packet.payloadType,
        data_type: packet.dataType,
        subpackage: packet.subpackage,
      };
      expect(read).toMatchObject(stated);
    }
  });

  it('use the subpackage marks of the standard: 2 is last, 3 is middle', () => {
    expect(SubpackageMark).toEqual({ ATOMIC: 0, FIRST: 1, LAST: 2, MIDDLE: 3 });
  });
});
