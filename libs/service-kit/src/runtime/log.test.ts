import { describe, expect, it } from '@jest/globals';
import { createLogger, redactUrl } from './log.ts';

describe('createLogger', () => {
  it.each([
    ['warn', 'warn'],
    ['silent', 'silent'],
    ['loud', 'info'],
    ['toString', 'info'],
    ['', 'info'],
    [undefined, 'info'],
  ])('logs at %s for the level %p', (given, level) => {
    expect(createLogger('test', given).level).toBe(level);
  });
});

describe('redactUrl', () => {
  it('removes tokens that open a stream', () => {
    expect(redactUrl('/live/1_1.flv?expires=5&signature=ab12&audio=aac')).toBe(
      '/live/1_1.flv?expires=5&signature=***&audio=aac',
    );
    expect(redactUrl('/stream.flv?token=ey.x.y')).toBe('/stream.flv?token=***');
  });
});
