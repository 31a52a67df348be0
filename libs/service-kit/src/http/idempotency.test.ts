import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../runtime/log.ts';
import { AppError } from './errors.ts';
import { type IdempotencyRecord, type IdempotencyStore, withIdempotencyKey } from './idempotency.ts';
import { Reply, type RequestContext } from './route.ts';

const log = createLogger('test', 'silent');

/** A request with a key. */
const context = {
  log,
  request: { get: () => 'a key', method: 'POST', baseUrl: '/api', path: '/things' },
} as unknown as RequestContext;

/** Stores responses in memory, or fails to. */
class Memory implements IdempotencyStore {
  readonly known = new Map<string, IdempotencyRecord>();
  isBroken = false;

  async begin(id: string, bodySha256: string): Promise<IdempotencyRecord | null> {
    const known = this.known.get(id);
    if (known === undefined) this.known.set(id, { state: 'running', bodySha256 });
    return known ?? null;
  }

  async save(id: string, response: Parameters<IdempotencyStore['save']>[1]): Promise<void> {
    if (this.isBroken) throw new Error('the database is unavailable');
    this.known.set(id, { state: 'answered', bodySha256: this.known.get(id)?.bodySha256 ?? '', response: response });
  }

  async delete(id: string): Promise<void> {
    if (this.isBroken) throw new Error('the database is unavailable');
    this.known.delete(id);
  }
}

const run = (store: IdempotencyStore, handle: () => Promise<unknown>): Promise<unknown> =>
  withIdempotencyKey(store, { caller: 'user:1', body: () => ({ name: 'a' }) }, context, handle);

describe('a response that cannot be stored', () => {
  it('reaches its caller, and a retry does not run immediately', async () => {
    const store = new Memory();
    let handled = 0;
    const response = run(store, async () => {
      handled += 1;
      store.isBroken = true;
      return new Reply(201, { id: handled });
    });
    expect(await response).toMatchObject({ status: 201, body: { id: 1 } });
    store.isBroken = false;
    expect([...store.known.values()]).toMatchObject([{ state: 'running' }]);
  });

  it.each([
    ['of an invalid input', new AppError('duplicate', 'The record already exists.')],
    ['of an internal failure', new Error('a defect')],
  ])('%s is not hidden', async (_what, error) => {
    const store = new Memory();
    const failing = run(store, () => {
      store.isBroken = true;
      return Promise.reject(error);
    });
    await expect(failing).rejects.toBe(error);
  });
});
