import { waitFor } from '@fleet/testing';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { exitAfterFlush, getPodId, Lifecycle } from './lifecycle.ts';
import { createLogger } from './log.ts';

const log = createLogger('test', 'silent');

describe('Lifecycle', () => {
  it('stops parts in reverse order of start, one after the other, once', async () => {
    const lifecycle = new Lifecycle(log);
    const stopped: string[] = [];
    lifecycle.onStop('first', () => void stopped.push('first'));
    lifecycle.onStop('second', async () => {
      await Promise.resolve();
      stopped.push('second');
    });
    expect(lifecycle.isStopping).toBe(false);
    const stops = [lifecycle.stop(), lifecycle.stop()];
    expect(lifecycle.isStopping).toBe(true);
    await Promise.all(stops);
    expect(stopped).toEqual(['second', 'first']);
  });

  it('continues after a part that fails and after one that hangs', async () => {
    const lifecycle = new Lifecycle(log, { stepTimeoutMs: 20 });
    const stopped: string[] = [];
    lifecycle.onStop('last', () => void stopped.push('last'));
    lifecycle.onStop('hangs', () => new Promise(() => undefined));
    lifecycle.onStop('throws', () => {
      throw new Error('broken');
    });
    await lifecycle.stop();
    expect(stopped).toEqual(['last']);
  });
});

describe('the exit of a service', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each([
    ['is flushed', (done?: (error?: Error) => void) => done?.()],
    ['is never flushed', () => undefined],
  ])('follows when its log %s', async (_name, flush) => {
    const codes: unknown[] = [];
    jest.spyOn(process, 'exit').mockImplementation(((code: unknown) => void codes.push(code)) as never);
    exitAfterFlush({ flush }, 3);
    await waitFor(() => codes.length > 0, 'the exit');
    expect(codes[0]).toBe(3);
  });
});

describe('podId', () => {
  it('is POD_ID, else a name of this process that is valid in a subject', () => {
    expect(getPodId('pod-1')).toBe('pod-1');
    expect(getPodId(undefined)).toMatch(new RegExp(`^[A-Za-z0-9-]+-${process.pid}$`));
  });
});
