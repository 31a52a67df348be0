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

/** Keeps answers in memory, or fails at it. */
class Memory implements IdempotencyStore {
  readonly known = new Map<string, IdempotencyRecord>();
  isBroken = false;

  async begin(id: string, bodySha256: string): Promise<IdempotencyRecord | null> {
    const known = this.known.get(id);
    if (known === undefined) this.known.set(id, { state: 'running', bodySha256 });
    return known ?? null;
  }

  async save(id: string, answer: Parameters<IdempotencyStore['save']>[1]): Promise<void> {
    if (this.isBroken) throw new Error('the database is away');
    this.known.set(id, { state: 'answered', bodySha256: this.known.get(id)?.bodySha256 ?? '', response: answer });
  }

  async delete(id: string): Promise<void> {
    if (this.isBroken) throw new Error('the database is away');
    this.known.delete(id);
  }
}

const run = (store: IdempotencyStore, handle: () => Promise<unknown>): Promise<unknown> =>
  withIdempotencyKey(store, { caller: 'user:1', body: () => ({ name: 'a' }) }, context, handle);

describe('an answer that can not be kept', () => {
  it('reaches its caller all the same, and what was done is not done again at once', async () => {
    const store = new Memory();
    let made = 0;
    const answer = run(store, async () => {
      made += 1;
      store.isBroken = true;
      return new Reply(201, { id: made });
    });
    expect(await answer).toMatchObject({ status: 201, body: { id: 1 } });
    store.isBroken = false;
    expect([...store.known.values()]).toMatchObject([{ state: 'running' }]);
  });

  it.each([
    ['of a fault of the input', new AppError('duplicate', 'There is one already.')],
    ['of a failure of ours', new Error('a defect')],
  ])('%s does not hide what was wrong', async (_what, error) => {
    const store = new Memory();
    const failing = run(store, () => {
      store.isBroken = true;
      return Promise.reject(error);
    });
    await expect(failing).rejects.toBe(error);
  });
});
