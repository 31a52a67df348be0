import { createLogger } from '@fleet/service-kit';
import { describe, expect, it, jest } from '@jest/globals';
import { Background } from './background.ts';

const log = createLogger('background-test', 'silent');

describe('background work', () => {
  it('drains running work and the work that it starts', async () => {
    const background = new Background(log);
    const done: string[] = [];
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    background.run(async () => {
      await gate;
      background.run(async () => {
        await Promise.resolve();
        done.push('second');
      }, 'no');
      done.push('first');
    }, 'no');
    expect(done).toEqual([]);
    release();
    await background.drain();
    expect(done).toEqual(['first', 'second']);
  });

  it('logs a failure and does not block draining', async () => {
    const error = jest.spyOn(log, 'error');
    const background = new Background(log);
    const failed = new Error('the provider is unavailable');
    background.run(() => Promise.reject(failed), 'could not be sent');
    await background.drain();
    expect(error).toHaveBeenCalledWith({ err: failed }, 'could not be sent');
  });
});
