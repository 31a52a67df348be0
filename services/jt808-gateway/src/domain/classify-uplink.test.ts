import { allMessages, defineMessage } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { classifyUplink, createUplinkClassifier } from './classify-uplink.ts';

describe('classifyUplink', () => {
  it.each([
    [0x0002, 'heartbeat'],
    [0x0200, 'location'],
    [0x0704, 'location'],
    [0x0702, 'event'],
    [0x1206, 'event'],
    [0x1212, 'event'],
    [0x0104, 'response'],
    [0x1205, 'response'],
    [0x0001, 'generalResponse'],
    [0x0102, 'login'],
    [0x7fff, 'unknown'],
  ])('classifies 0x%s as %s', (id, kind) => {
    expect(classifyUplink(id)).toBe(kind);
  });

  it('classifies every uplink message of the codec', () => {
    const unknown = allMessages.filter(({ id, from }) => from === 'terminal' && classifyUplink(id) === 'unknown');
    expect(unknown.map(({ name }) => name)).toEqual([]);
  });

  it('derives the kind of an added uplink message from its definition', () => {
    const definitions = [
      ...allMessages,
      defineMessage({
        id: 0x1fc4,
        name: 'upgradeProgress',
        from: 'terminal',
        reference: 'none',
        responseIds: [0x8001],
        body: {},
      }),
      defineMessage({
        id: 0x9fc5,
        name: 'queryUpgrade',
        from: 'platform',
        reference: 'none',
        responseIds: [0x1fc5],
        body: {},
      }),
      defineMessage({ id: 0x1fc5, name: 'upgradeResponse', from: 'terminal', reference: 'none', body: {} }),
    ];
    const classify = createUplinkClassifier(definitions);
    expect([0x1fc4, 0x1fc5].map(classify)).toEqual(['event', 'response']);
    expect([0x1fc4, 0x1fc5].map(classifyUplink)).toEqual(['unknown', 'unknown']);
  });
});
