import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import * as bus from './index.ts';
import { findIncompatibilities, listMessages, type ReleaseMessages } from './testing/message-fields.ts';

const readFormer = (): ReleaseMessages =>
  JSON.parse(readFileSync(new URL('../former-messages.json', import.meta.url), 'utf8')) as ReleaseMessages;

describe('the messages of this release', () => {
  it('are readable by processes of the former release, and theirs by this one', () => {
    const former = readFormer();
    expect(Object.keys(former).length).toBeGreaterThan(50);
    expect(findIncompatibilities(former, listMessages(bus))).toEqual([]);
  });

  it('may have fields that the reader does not know', () => {
    const { check } = bus.keyRevoked;
    expect(check({ keySha256: '0'.repeat(64), addedLater: 1 })).toBe(true);
    const isClosed = JSON.stringify(
      Object.values(bus).filter((each) => typeof each === 'object' && each !== null && 'subject' in each),
    ).includes('"additionalProperties":false');
    expect(isClosed).toBe(false);
  });
});

describe('findIncompatibilities', () => {
  const former: ReleaseMessages = {
    'a.b request': { '': 'object', '/id': 'integer', '/note': 'string?', '/kind': '"x"|"y"' },
  };
  const compare = (fields: Record<string, string>) =>
    findIncompatibilities(former, { 'a.b request': { ...former['a.b request'], ...fields } });

  it('accepts new optional fields, new messages and further values', () => {
    expect(compare({ '/more': 'object?', '/more/part': 'integer', '/kind': '"x"|"y"|"z"' })).toEqual([]);
    expect(findIncompatibilities(former, { ...former, 'c.d request': { '': 'object', '/id': 'integer' } })).toEqual([]);
  });

  it.each([
    [{ '/more': 'integer' }, 'a.b request /more: the former release does not send it'],
    [{ '/id': 'integer?' }, 'a.b request /id: the former release requires it'],
    [{ '/note': 'string' }, 'a.b request /note: the former release may omit it'],
    [{ '/id': 'string' }, 'a.b request /id: the former release sends integer'],
    [{ '/kind': '"x"' }, 'a.b request /kind: the former release sends "y"'],
  ])('rejects %j', (fields, expected) => {
    expect(compare(fields as unknown as Record<string, string>)).toEqual([expected]);
  });

  it('rejects a message that was removed', () => {
    expect(findIncompatibilities(former, {})).toEqual(['a.b request: the former release uses it']);
  });
});
