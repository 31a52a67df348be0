import { createLogger } from '@fleet/service-kit';
import { describe, expect, it, jest } from '@jest/globals';
import { Background } from './background.ts';

const log = createLogger('background-test', 'silent');

describe('work that no request waits for', () => {
  it('is waited for, and what it begins itself, too', async () => {
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

  it('is logged where it fails, and keeps nobody waiting', async () => {
    const error = jest.spyOn(log, 'error');
    const background = new Background(log);
    const failed = new Error('the provider is away');
    background.run(() => Promise.reject(failed), 'could not be sent');
    await background.drain();
    expect(error).toHaveBeenCalledWith({ err: failed }, 'could not be sent');
  });
});
