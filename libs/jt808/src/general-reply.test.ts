import { propertyRuns, propertySettings } from '@fleet/testing';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { encodeMessage } from './encode-message.ts';
import { createTerminalAddress } from './frame.ts';
import { generalReplyMaxBytes, writeGeneralReply } from './general-reply.ts';
import { platformGeneralResponse } from './messages/session.ts';
import { split } from './testing/shared.ts';

fc.configureGlobal(propertySettings);

const word = fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0x7e7e, 0x7d7e, 0x7d7d, 0x007d));
const digits = fc.array(fc.constantFrom('7E', '7D', '00', '13', 'FF'), { minLength: 6, maxLength: 6 });

it('writes the same bytes as the encoded message for every header and value', () => {
  const target = Buffer.alloc(3 + generalReplyMaxBytes);
  fc.assert(
    fc.property(
      fc.constantFrom('2013' as const, '2019' as const),
      digits,
      word,
      word,
      word,
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(1, 0x7e),
      (edition, pairs, serial, replySerial, replyId, result, version) => {
        const address = createTerminalAddress(pairs.join(''), edition, version);
        const end = writeGeneralReply(target, 3, address, serial, replySerial, replyId, result);
        const declared = encodeMessage(
          platformGeneralResponse,
          { replySerial, replyId, result },
          { edition, phone: address, serial },
        );
        expect(declared).toEqual([target.subarray(3, end)]);
      },
    ),
    { numRuns: propertyRuns(500) },
  );
});

it('writes many replies into one buffer', () => {
  const target = Buffer.alloc(100 * generalReplyMaxBytes);
  const address = createTerminalAddress('013912345678', '2013');
  let end = 0;
  for (let serial = 0; serial < 100; serial += 1)
    end = writeGeneralReply(target, end, address, serial, serial, 0x0200, 0);
  const { frames, splitter } = split([target.subarray(0, end)]);
  expect(frames.map((frame) => frame.serial)).toEqual(Array.from({ length: 100 }, (_, serial) => serial));
  expect(splitter.droppedTotal).toBe(0);
});

it('never exceeds the stated maximum size', () => {
  const target = Buffer.alloc(generalReplyMaxBytes + 10);
  const end = writeGeneralReply(
    target,
    0,
    createTerminalAddress('7E'.repeat(10), '2019', 0x7e),
    0x7e7e,
    0x7e7e,
    0x7e7e,
    0x7e,
  );
  expect(end).toBeLessThanOrEqual(generalReplyMaxBytes);
});
