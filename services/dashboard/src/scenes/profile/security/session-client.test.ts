import { describe, expect, it } from '@jest/globals';
import { findSessionClient } from './session-client.ts';

const agents: readonly (readonly [client: string, userAgent: string])[] = [
  [
    'Chrome, Windows',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  ],
  ['Firefox, Linux', 'Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0'],
  [
    'Safari, iOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
  ],
];

describe('the client of a session', () => {
  it.each(agents)('is %s', (client, userAgent) => {
    const found = findSessionClient(userAgent);
    expect(`${found?.browser}, ${found?.system}`).toBe(client);
  });

  it.each(['', 'node', 'curl/8.5.0', 'Mozilla/5.0'])('is not a known browser for "%s"', (userAgent) => {
    expect(findSessionClient(userAgent)).toBeUndefined();
  });
});
