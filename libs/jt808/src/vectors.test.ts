import { describe, expect, it } from '@jest/globals';
import { describeFrame, describeMessageBody } from './describe.ts';
import { encodeFrame, type Frame } from './frame.ts';
import { decodeBody, encodeBody } from './message.ts';
import { Reassembler } from './reassembler.ts';
import { messageById } from './registry.ts';
import { onlyFrame, sharedFile, type Vector } from './testing/shared.ts';

const vectors = (sharedFile('jt808-vectors.json') ?? []) as Vector[];
const describeShared = vectors.length > 0 ? describe : describe.skip;
const named = vectors.map((vector, index): [string, Vector] => [
  `${index} ${vector.message_id} ${vector.edition}`,
  vector,
]);

/** Vectors whose body does not encode to the same bytes, with the reason. */
const LOSSY: Readonly<Record<string, string>> = {
  '12 0x0100 2013': 'pads the manufacturer in front; the text fixes no side, and every other vector pads behind',
  '17 0x0100 2019': 'pads the model behind, the text says in front',
  '18 0x0100 2019': 'pads the model behind, the text says in front',
  '87 0x0702 2013': 'starts the certificate number with a NUL, where text has its filler behind',
  '191 0x8400 2019': 'pads the phone number with NULs, though a STRING has no filler',
};

/** Wire bytes of a frame that is built anew from its parts. */
const reframed = (frame: Frame): string =>
  encodeFrame({
    messageId: frame.messageId,
    phone: frame.address(),
    serial: frame.serial,
    body: frame.body,
    encryption: frame.encryption,
    subpackage: frame.subpackage,
  })
    .toString('hex')
    .toUpperCase();

describeShared('jt808-vectors.json', () => {
  it.each(named)('%s decodes to the stated values', (_name, vector) => {
    const { message_id, quirk, ...described } = describeFrame(onlyFrame(vector.frame), vector.edition);
    const { reassembled_length: _length, reassembled_body: _body, ...stated } = vector.expect;
    expect(message_id).toBe(vector.message_id);
    expect(described).toEqual(stated);
    expect(quirk === undefined || vector.source.includes('Demo14')).toBe(true);
  });

  it.each(named)('%s is framed again to the same bytes', (_name, vector) => {
    const frame = onlyFrame(vector.frame);
    // The version bit that a short header must not have is not sent again.
    const { properties } = onlyFrame(reframed(frame));
    expect(properties).toBe(frame.quirk === undefined ? frame.properties : frame.properties & ~0x4000);
    expect([vector.frame, undefined]).toContain(frame.quirk === undefined ? reframed(frame) : undefined);
  });

  it('joins every group to the stated body, in order and backwards', () => {
    const groups = new Set(vectors.flatMap((vector) => vector.group ?? []));
    for (const group of groups) {
      const parts = vectors.filter((vector) => vector.group === group);
      const last = parts.find((part) => part.expect.reassembled_body !== undefined);
      for (const order of [parts, [...parts].reverse()]) {
        const reassembler = new Reassembler({ now: () => 0 });
        const outcomes = order.map((part) => reassembler.push('1', onlyFrame(part.frame)));
        const joined = outcomes.at(-1);
        if (joined?.kind !== 'complete' || last === undefined) throw new Error(`group ${group} is not joined`);
        expect(joined.message.body.length).toBe(last.expect.reassembled_length);
        expect(describeMessageBody(joined.message.messageId, joined.message.body, last.edition)).toEqual(
          last.expect.reassembled_body,
        );
      }
    }
    expect(groups.size).toBeGreaterThan(0);
  });

  it.each(named)('%s encodes to the same body', (name, vector) => {
    const frame = onlyFrame(vector.frame);
    const definition = messageById(frame.messageId);
    if (definition === undefined || frame.subpackage !== null) return;
    const body = decodeBody(definition, frame.body, vector.edition);
    const again = encodeBody(definition, body, vector.edition).toString('hex');
    const same = again === frame.body.toString('hex');
    expect({ same, again }).toEqual({ same: LOSSY[name] === undefined, again });
  });
});
