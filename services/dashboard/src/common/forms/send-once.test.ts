import { ApiFailure } from '@fleet/api-client';
import { describe, expect, it } from '@jest/globals';
import { createSendOnce } from './send-once.ts';

const failureOf = (status: number, retryAfterSeconds: number | null = null): ApiFailure =>
  new ApiFailure('failed', { status, code: 'code', details: [], requestId: null, retryAfterSeconds });

/** Sends contents one after the other, each with a failure or none, and returns the keys that were sent. */
async function sendAll(
  requests: readonly (readonly [content: unknown, failure?: Error])[],
  send = createSendOnce(),
): Promise<string[]> {
  const keys: string[] = [];
  for (const [content, failure] of requests)
    await send(content, async ({ 'Idempotency-Key': key }) => {
      keys.push(key);
      if (failure !== undefined) throw failure;
    }).catch(() => undefined);
  return keys;
}

describe('the requests of a form', () => {
  it('have another key for other content, and after a success', async () => {
    const keys = await sendAll([[{ name: 'A' }], [{ name: 'B' }], [{ name: 'B' }]]);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(keys).size).toBe(3);
  });

  it('keep their key after a success if a later step can fail', async () => {
    const [first, second] = await sendAll([[{ name: 'A' }], [{ name: 'A' }]], createSendOnce({ keepsKey: true }));
    expect(second).toBe(first);
  });

  it.each([0, 429, 500, 504])('keep their key after status %d', async (status) => {
    const [first, second] = await sendAll([[{ name: 'A' }, failureOf(status)], [{ name: 'A' }]]);
    expect(second).toBe(first);
  });

  it('keep their key while the first request is still running', async () => {
    const [first, second] = await sendAll([[{ name: 'A' }, failureOf(409, 1)], [{ name: 'A' }]]);
    expect(second).toBe(first);
  });

  it.each([400, 403, 409, 422])('have another key after status %d', async (status) => {
    const [first, second] = await sendAll([[{ name: 'A' }, failureOf(status)], [{ name: 'A' }]]);
    expect(second).not.toBe(first);
  });

  it('fail as the request does', async () => {
    const failure = failureOf(409);
    await expect(createSendOnce()({ name: 'A' }, () => Promise.reject(failure))).rejects.toBe(failure);
  });

  it('keep their key after a failure of the page', async () => {
    const [first, second] = await sendAll([[{ name: 'A' }, new Error('no record')], [{ name: 'A' }]]);
    expect(second).toBe(first);
  });
});
