import { describe, expect, it } from '@jest/globals';
import { formatFrame, formatMessageBody } from './format.ts';
import { encodeFrame, type Frame } from './frame.ts';
import { decodeBody, encodeBody } from './message.ts';
import { Reassembler } from './reassembler.ts';
import { messageById } from './registry.ts';
import { onlyFrame, readSharedFile, type Vector } from './testing/shared.ts';

const vectors = (readSharedFile('jt808-vectors.json') ?? []) as Vector[];
const describeShared = vectors.length > 0 ? describe : describe.skip;
const namedVectors = vectors.map((vector, index): [string, Vector] => [
  `${index} ${vector.message_id} ${vector.edition}`,
  vector,
]);

/** Vectors whose body does not encode to the same bytes, with the reason. */
const lossyReasons: Readonly<Record<string, string>> = {
  '12 0x0100 2013':
    'pads the manufacturer in front; the text specifies no side, and every other vector pads at the end',
  '17 0x0100 2019': 'pads the model at the end; the text specifies the front',
  '18 0x0100 2019': 'pads the model at the end; the text specifies the front',
  '87 0x0702 2013': 'starts the certificate number with a NUL; text is padded at the end',
  '191 0x8400 2019': 'pads the phone number with NULs, though a STRING has no padding',
};

/** Returns the wire bytes of a frame encoded again from its parts. */
const encodeAgain = (frame: Frame): string =>
  encodeFrame({
    messageId: frame.messageId,
    phone: frame.toAddress(),
    serial: frame.serial,
    body: frame.body,
    encryption: frame.encryption,
    subpackage: frame.subpackage,
  })
    .toString('hex')
    .toUpperCase();

describeShared('jt808-vectors.json', () => {
  it.each(namedVectors)('%s decodes to the expected values', (_name, vector) => {
    const { message_id, quirk, ...formatted } = formatFrame(onlyFrame(vector.frame), vector.edition);
    const { reassembled_length: _length, reassembled_body: _body, ...expected } = vector.expect;
    expect(message_id).toBe(vector.message_id);
    expect(formatted).toEqual(expected);
    expect(quirk === undefined || vector.source.includes('Demo14')).toBe(true);
  });

  it.each(namedVectors)('%s encodes to the same frame', (_name, vector) => {
    const frame = onlyFrame(vector.frame);
    // The version bit, which a short header must not have, is not encoded.
    const { properties } = onlyFrame(encodeAgain(frame));
    expect(properties).toBe(frame.quirk === undefined ? frame.properties : frame.properties & ~0x4000);
    expect([vector.frame, undefined]).toContain(frame.quirk === undefined ? encodeAgain(frame) : undefined);
  });

  it('joins every group to the expected body, in order and backwards', () => {
    const groups = new Set(vectors.flatMap((vector) => vector.group ?? []));
    for (const group of groups) {
      const parts = vectors.filter((vector) => vector.group === group);
      const last = parts.find((part) => part.expect.reassembled_body !== undefined);
      for (const order of [parts, [...parts].reverse()]) {
        const reassembler = new Reassembler({ now: () => 0 });
        const outcomes = order.map((part) => reassembler.push('1', onlyFrame(part.frame)));
        const reassembled = outcomes.at(-1);
        if (reassembled?.kind !== 'complete' || last === undefined) throw new Error(`group ${group} was not joined`);
        expect(reassembled.message.body.length).toBe(last.expect.reassembled_length);
        expect(formatMessageBody(reassembled.message.messageId, reassembled.message.body, last.edition)).toEqual(
          last.expect.reassembled_body,
        );
      }
    }
    expect(groups.size).toBeGreaterThan(0);
  });

  it.each(namedVectors)('%s encodes to the same body', (name, vector) => {
    const frame = onlyFrame(vector.frame);
    const definition = messageById(frame.messageId);
    if (definition === undefined || frame.subpackage !== null) return;
    const body = decodeBody(definition, frame.body, vector.edition);
    const again = encodeBody(definition, body, vector.edition).toString('hex');
    const same = again === frame.body.toString('hex');
    expect({ same, again }).toEqual({ same: lossyReasons[name] === undefined, again });
  });
});
