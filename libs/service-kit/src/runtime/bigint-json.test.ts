import { describe, expect, it } from '@jest/globals';
import { parseBigInt, stringifyBigInt } from './bigint-json.ts';

describe('stringifyBigInt', () => {
  it('writes every digit of a bigint at any position', () => {
    const alarm = 2n ** 64n - 1n;
    expect(stringifyBigInt({ alarm, list: [0n, 2n ** 63n], text: '18446744073709551615', none: null })).toBe(
      '{"alarm":18446744073709551615,"list":[0,9223372036854775808],"text":"18446744073709551615","none":null}',
    );
    expect(stringifyBigInt(-5n)).toBe('-5');
  });

  it('equals JSON.stringify for everything else', () => {
    const value = { at: new Date(0), text: 'é"\\', number: 1e21, missing: undefined, nested: [{}, [], 'a:1'] };
    expect(stringifyBigInt(value)).toBe(JSON.stringify(value));
  });
});

describe('parseBigInt', () => {
  it('reads every digit of a large integer at any position', () => {
    const text = '{"alarm":18446744073709551615,"list":[-9223372036854775808,1],"text":"18446744073709551615"}';
    expect(parseBigInt(text)).toEqual({
      alarm: 2n ** 64n - 1n,
      list: [-(2n ** 63n), 1],
      text: '18446744073709551615',
    });
  });

  it('equals JSON.parse for everything else', () => {
    const text = '{"a\\"1234567890123456":[0.12345678901234567,12345678901234567e2,1e21,-0,999999999999999],"b":null}';
    expect(parseBigInt(text)).toEqual(JSON.parse(text));
  });
});
