import { randomBytes } from 'node:crypto';
import { createLogger } from '@fleet/service-kit';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { PartitionAssigner } from './partition-assigner.ts';

let database: Database;
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/partitions_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'test' });
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const log = createLogger('partitions-test', 'silent');
/** A lease that is long enough not to expire on a busy machine. */
const timings = { leaseMs: 5_000, renewMs: 50 };
const count = 4;

/**
 * Called before and after each call of a collection, with the name of its method. An error that it throws fails the
 * call.
 */
type Fault = (method: string, moment: 'before' | 'after') => void;
const none: Fault = () => undefined;

/** The database as one replica sees it. */
class Line {
  fault: Fault = none;
  readonly database: Database = {
    ...database,
    collection: (name) => {
      const collection = database.collection(name);
      return new Proxy(collection, {
        get: (target, method: string) => {
          const value: unknown = Reflect.get(target, method);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]): unknown => {
            this.fault(method, 'before');
            const result: unknown = Reflect.apply(value, target, args);
            return method === 'find' ? result : this.#after(method, result);
          };
        },
      }) as never;
    },
  };

  async #after(method: string, result: unknown): Promise<unknown> {
    const value = await result;
    this.fault(method, 'after');
    return value;
  }
}

const assigners: PartitionAssigner[] = [];
afterEach(async () => {
  for (const share of assigners.splice(0)) await share.stop();
});

/** A partition is released once `dropped` resolves. */
function replica(
  name: string,
  line: Line,
  { dropped = Promise.resolve(), pod = null }: { dropped?: Promise<void>; pod?: string | null } = {},
): { readonly own: () => number[] } {
  const own = new Set<number>();
  const owner = {
    onAssigned: (partition: number): void => void own.add(partition),
    onRevoked: async (partition: number): Promise<void> => {
      own.delete(partition);
      await dropped;
    },
  };
  assigners.push(new PartitionAssigner(line.database, { name, pod, count, owner, log, timings }));
  return { own: () => [...own].sort((a, b) => a - b) };
}

const newName = (): string => `telemetry-${randomBytes(6).toString('hex')}`;
const all = [0, 1, 2, 3];

/** Fails the first call of a method. */
function onceAt(line: Line, method: string, moment: 'before' | 'after'): { readonly hasFailed: () => boolean } {
  let hasFailed = false;
  line.fault = (called, when) => {
    if (hasFailed || called !== method || when !== moment) return;
    hasFailed = true;
    throw new Error('the connection was lost');
  };
  return { hasFailed: () => hasFailed };
}

describe('partitions', () => {
  it('are acquired again by the only replica after a database outage longer than a lease', async () => {
    const line = new Line();
    const only = replica(newName(), line);
    await waitFor(() => only.own().length === count);
    line.fault = () => {
      throw new Error('the database is unavailable');
    };
    await waitFor(() => only.own().length === 0);
    line.fault = none;
    await waitFor(() => only.own().length === count);
    expect(only.own()).toEqual(all);
  });

  it.each(['before', 'after'] as const)(
    'are acquired if the connection is lost %s the lease is created',
    async (moment) => {
      const line = new Line();
      const fault = onceAt(line, 'insertOne', moment);
      const only = replica(newName(), line);
      await waitFor(() => only.own().length === count);
      expect(fault.hasFailed()).toBe(true);
    },
  );

  it('are acquired immediately by the next process of a pod after a crash, and by no other pod', async () => {
    const name = newName();
    const leases = database.collection<{ _id: string }>('telemetry_leases');
    const held = { holder: 'killed', pod: 'telemetry-0', expiresAt: new Date(Date.now() + 3_600_000) };
    const ids = ['member:killed', ...all.map((partition) => `partition:${partition}`)];
    await leases.insertMany(ids.map((id) => ({ _id: `${name}:${id}`, ...held })));
    const other = replica(name, new Line(), { pod: 'telemetry-1' });
    await waitFor(async () => (await leases.countDocuments({ pod: 'telemetry-1' })) === 1);
    const next = replica(name, new Line(), { pod: 'telemetry-0' });
    await waitFor(() => next.own().length + other.own().length === count);
    expect([...next.own(), ...other.own()].toSorted((a, b) => a - b)).toEqual(all);
    expect(next.own().length).toBeGreaterThan(0);
  });

  it('of a crashed process without a pod name are acquired when the lease expires', async () => {
    const name = newName();
    const leases = database.collection<{ _id: string }>('telemetry_leases');
    const held = { holder: 'killed', pod: null, expiresAt: new Date(Date.now() + 3_600_000) };
    await leases.insertOne({ _id: `${name}:partition:0`, ...held });
    const next = replica(name, new Line());
    await waitFor(() => next.own().length === 3);
    expect(next.own()).toEqual([1, 2, 3]);
    await leases.updateOne({ _id: `${name}:partition:0` }, { $set: { expiresAt: new Date(0) } });
    await waitFor(() => next.own().length === count);
  });

  it('are assigned to another replica after a failed release', async () => {
    const [line, name] = [new Line(), newName()];
    const first = replica(name, line);
    await waitFor(() => first.own().length === count);
    const fault = onceAt(line, 'deleteOne', 'before');
    const second = replica(name, new Line());
    await waitFor(() => fault.hasFailed() && first.own().length + second.own().length === count);
    expect([...first.own(), ...second.own()].toSorted((a, b) => a - b)).toEqual(all);
    expect(first.own()).toHaveLength(2);
  });

  it('stay with a replica that takes longer than a lease to release others', async () => {
    const name = newName();
    let letGo: () => void = () => undefined;
    const first = replica(name, new Line(), { dropped: new Promise((resolve) => (letGo = resolve)) });
    await waitFor(() => first.own().length === count);
    const second = replica(name, new Line());
    await waitFor(() => first.own().length === 2);
    const sinceMs = Date.now();
    const leases = database.collection<{ _id: string; expiresAt: Date }>('telemetry_leases');
    await waitFor(async () => {
      const held = await leases.findOne({ _id: `${name}:partition:0` });
      return held !== null && held.expiresAt.getTime() > sinceMs + timings.leaseMs;
    });
    expect(first.own()).toEqual([0, 1]);
    expect(second.own()).toEqual([]);
    letGo();
    await waitFor(() => second.own().length === 2);
    expect(second.own()).toEqual([2, 3]);
  });
});
