import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { encodeFrame, type Frame } from './frame.ts';
import { type DropReason, FrameSplitter } from './frame-splitter.ts';
import { tryDecodeBody } from './message.ts';
import { messageById } from './registry.ts';
import { referenceSplit } from './testing/reference-splitter.ts';
import { type MalformedCase, onlyFrame, readSharedFile, split } from './testing/shared.ts';

fc.configureGlobal(propertySettings);

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const heartbeat = (serial: number): Buffer => encodeFrame({ messageId: 0x0002, phone: '013912345678', serial });
const serials = (frames: readonly Frame[]): number[] => frames.map((frame) => frame.serial);

const malformed = (readSharedFile('jt808-malformed.json') ?? []) as MalformedCase[];
const describeShared = malformed.length > 0 ? describe : describe.skip;

const counterNames: Readonly<Record<DropReason, string>> = {
  garbage: 'garbage',
  shortFrame: 'short_frame',
  badChecksum: 'bad_checksum',
  badEscape: 'bad_escape',
  lengthMismatch: 'length_mismatch',
  oversized: 'oversized',
  badSubpackage: 'bad_subpackage',
  badBody: 'bad_body',
};

describeShared('jt808-malformed.json', () => {
  it.each(malformed.map((row): [string, MalformedCase] => [`${row.id} ${row.why}`, row]))('%s', (_name, row) => {
    const { frames, splitter } = split(row.chunks.map((chunk) => Buffer.from(chunk, 'hex')));
    const isGood = frames.filter((frame) => {
      const definition = messageById(frame.messageId);
      const isBad = frame.subpackage === null && definition && !tryDecodeBody(definition, frame.body).ok;
      if (isBad === true) splitter.dropped.badBody += 1;
      return isBad !== true;
    });
    expect(
      isGood.map((frame) => ({
        message_id: `0x${frame.messageId.toString(16).padStart(4, '0')}`,
        serial: frame.serial,
        phone: frame.phone,
        ...(frame.quirk === undefined ? {} : { quirk: frame.quirk }),
      })),
    ).toEqual(row.expected.frames);
    expect(splitter.droppedTotal).toBe(row.expected.dropped_total);
    for (const [reason, count] of Object.entries(splitter.dropped)) {
      expect([reason, count]).toEqual([reason, row.expected.dropped[counterNames[reason as DropReason]] ?? 0]);
    }
  });
});

describe('FrameSplitter', () => {
  it('treats every flag as an end and a start, so that one lost flag costs one frame', () => {
    const lostStart = Buffer.concat([heartbeat(1), heartbeat(2).subarray(1), heartbeat(3)]);
    expect(serials(split([lostStart]).frames)).toEqual([1, 2, 3]);
    const lostEnd = Buffer.concat([heartbeat(1).subarray(0, -1), heartbeat(2), heartbeat(3)]);
    expect(serials(split([lostEnd]).frames)).toEqual([1, 2, 3]);
    const bothLost = Buffer.concat([heartbeat(1).subarray(0, -1), heartbeat(2).subarray(1), heartbeat(3)]);
    const { frames, splitter } = split([bothLost]);
    expect(serials(frames)).toEqual([3]);
    expect(splitter.droppedTotal).toBe(1);
  });

  it('accepts frames that share one flag', () => {
    expect(serials(split([Buffer.concat([heartbeat(1), heartbeat(2).subarray(1)])]).frames)).toEqual([1, 2]);
  });

  it('counts the bytes before the first flag once, regardless of the number of reads', () => {
    const { frames, splitter } = split([hex('0102'), hex('0304'), Buffer.concat([hex('05'), heartbeat(4)])]);
    expect(serials(frames)).toEqual([4]);
    expect(splitter.dropped).toMatchObject({ garbage: 1 });
    expect(splitter.droppedTotal).toBe(1);
  });

  it('preserves the unescape state between reads, wherever the boundary is', () => {
    const body = hex('7d7e7d7d7e7e00');
    const wire = encodeFrame({ messageId: 0x0900, phone: '123456789012', serial: 0x7e7d, body });
    for (let border = 0; border <= wire.length; border += 1) {
      const { frames, splitter } = split([wire.subarray(0, border), wire.subarray(border)]);
      expect(frames.map((frame) => frame.body.toString('hex'))).toEqual([body.toString('hex')]);
      expect(splitter.droppedTotal).toBe(0);
      expect(splitter.pendingBytes).toBe(0);
    }
  });

  it('accepts an unescaped check byte 7D (real terminals), also if the flag arrives in the next read', () => {
    const frame = hex('7e0002000000000000067900007d7e');
    expect(onlyFrame(frame.toString('hex')).phone).toBe('000000000679');
    expect(split([frame.subarray(0, -1), frame.subarray(-1)]).frames).toHaveLength(1);
  });

  it('rejects 7D before any byte other than 01 and 02', () => {
    const { frames, splitter } = split([hex('7e000200000139123456780000 7d03 7e'), heartbeat(5)]);
    expect(serials(frames)).toEqual([5]);
    expect(splitter.dropped).toMatchObject({ badEscape: 1 });
  });

  it('accepts the longest possible frame with every byte escaped, and drops one more byte', () => {
    const body = Buffer.alloc(1023, 0x7e);
    const wire = encodeFrame({
      messageId: 0x7e7e,
      edition: '2019',
      phone: '7E7E7E7E7E7E7E7E7E7E',
      serial: 0x7e7e,
      body,
      subpackage: { total: 0x7e7e, no: 0x7e7e },
      protocolVersion: 0x7e,
    });
    expect(split([wire]).frames[0]?.body.equals(body)).toBe(true);
    for (const reads of [[Buffer.alloc(2091, 1)], Array.from({ length: 2091 }, () => hex('01'))]) {
      const { frames, splitter } = split([hex('7e'), ...reads, heartbeat(6)]);
      expect(serials(frames)).toEqual([6]);
      expect(splitter.dropped).toMatchObject({ oversized: 1 });
      expect(splitter.droppedTotal).toBe(1);
    }
  });

  it('never buffers more than one frame while no flag arrives', () => {
    const splitter = new FrameSplitter();
    splitter.push(hex('7e'), () => undefined);
    for (let i = 0; i < 100; i += 1) {
      splitter.push(Buffer.alloc(65_536, 1), () => undefined);
      expect(splitter.pendingBytes).toBeLessThanOrEqual(2090);
    }
    expect(splitter.dropped).toMatchObject({ oversized: 1 });
  });

  it.each([
    ['part 0', { total: 2, no: 0 }],
    ['part 3 of 2', { total: 2, no: 3 }],
    ['a total of 0', { total: 0, no: 0 }],
  ])('rejects %s', (_name, subpackage) => {
    const { splitter } = split([encodeFrame({ messageId: 0x0801, phone: '1', serial: 1, subpackage })]);
    expect(splitter.dropped).toMatchObject({ badSubpackage: 1 });
  });

  it('accepts a 2013 header with bits 14 and 15 set, and reports the quirk', () => {
    const plain = hex('0102c00c 010030000681 0902 4a3130303330303030363831');
    const check = plain.reduce((sum, byte) => sum ^ byte, 0);
    const frame = onlyFrame(`7e${plain.toString('hex')}${check.toString(16).padStart(2, '0')}7e`);
    expect([frame.header, frame.quirk, frame.phone]).toEqual(['2013', '2013_header_with_version_bit', '010030000681']);
    expect(frame.body.toString()).toBe('J10030000681');
  });

  it('trusts the actual size and ignores the check byte only when configured to', () => {
    const wrongLength = hex('7e 0002 0005 013912345678 0001 aabb 00 7e');
    wrongLength[wrongLength.length - 2] = wrongLength.subarray(1, -2).reduce((sum, byte) => sum ^ byte, 0);
    expect(split([wrongLength]).splitter.dropped).toMatchObject({ lengthMismatch: 1 });
    expect(split([wrongLength], { trustActualLength: true }).frames[0]?.body.toString('hex')).toBe('aabb');
    const wrongCheck = Buffer.from(heartbeat(7));
    wrongCheck[wrongCheck.length - 2] = (wrongCheck.at(-2) as number) ^ 0x10;
    expect(split([wrongCheck]).splitter.dropped).toMatchObject({ badChecksum: 1 });
    expect(serials(split([wrongCheck], { ignoreChecksum: true }).frames)).toEqual([7]);
  });

  it('finds the same frames as the reference splitter, however the stream is damaged and cut', () => {
    const frame = fc
      .record({
        messageId: fc.integer({ min: 0, max: 0xffff }),
        edition: fc.constantFrom('2013' as const, '2019' as const),
        serial: fc.integer({ min: 0, max: 0xffff }),
        body: fc.uint8Array({ maxLength: 80 }),
        subpackage: fc.option(fc.record({ total: fc.nat(5), no: fc.nat(5) })),
      })
      .map((input) => encodeFrame({ ...input, phone: '123456789012' }));
    const noise = fc.oneof(fc.constant(hex('7e')), fc.constant(hex('7d')), fc.uint8Array({ maxLength: 20 }));
    const piece = fc.oneof({ weight: 3, arbitrary: frame }, { weight: 1, arbitrary: noise });
    const stream = fc.record({
      pieces: fc.array(piece, { maxLength: 8 }),
      cuts: fc.array(fc.nat(600)),
      flips: fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 2 }),
    });
    fc.assert(
      fc.property(stream, ({ pieces, cuts, flips }) => {
        const bytes = Buffer.concat(pieces.map((part) => Buffer.from(part)));
        for (const [at, value] of flips) if (at < bytes.length) bytes[at] = value;
        const borders = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const reads = borders.slice(1).map((end, index) => bytes.subarray(borders[index], end));
        const seen = split(reads).frames.map(({ messageId, phone, serial, body }) => ({
          messageId,
          phone,
          serial,
          body: body.toString('hex'),
        }));
        expect(seen).toEqual(referenceSplit(bytes));
      }),
      { numRuns: propertyRuns(600) },
    );
  });
});

describe('Frame', () => {
  it('compares and copies the packed number without decoding it', () => {
    const frame = onlyFrame(heartbeat(9).toString('hex'));
    const { phoneBytes } = frame.toAddress();
    expect(frame.hasPhone(phoneBytes)).toBe(true);
    expect(frame.hasPhone(Buffer.from('013912345679', 'hex'))).toBe(false);
    expect(frame.hasPhone(Buffer.from('00000000013912345678', 'hex'))).toBe(false);
    expect(frame.phone).toBe('013912345678');
  });

  it('responds in the header form and the digits of the terminal', () => {
    const request = onlyFrame(
      encodeFrame({
        messageId: 0x0200,
        edition: '2019',
        phone: '4F07788EF676',
        serial: 3,
        protocolVersion: 2,
      }).toString('hex'),
    );
    const response = onlyFrame(
      encodeFrame({ messageId: 0x8001, phone: request.toAddress(), serial: 1 }).toString('hex'),
    );
    expect([response.header, response.protocolVersion, response.phone]).toEqual(['2019', 2, '000000004F07788EF676']);
  });

  it('rejects a body that does not fit in one frame', () => {
    expect(() => encodeFrame({ messageId: 1, phone: '1', serial: 0, body: Buffer.alloc(1024) })).toThrow(/body/);
  });
});
