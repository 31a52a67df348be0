import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@fleet/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ChildReaper } from './child-reaper.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function startChild(): ChildProcess & { readonly pid: number } {
  const child = spawn('sleep', ['600']);
  children.push(child);
  if (child.pid === undefined) throw new Error('sleep did not start');
  return child as ChildProcess & { readonly pid: number };
}

const isKilled = ({ signalCode }: ChildProcess): boolean => signalCode === 'SIGKILL';

describe('the children of a process that ends', () => {
  it('are killed, but not those that were removed before', async () => {
    const reaper = new ChildReaper();
    const [first, second, third, removed, last] = [1, 2, 3, 4, 5].map(startChild);
    if (!first || !second || !third || !removed || !last) throw new Error('no children');
    for (const { pid } of [first, second, third, removed, last]) reaper.add(pid);
    for (const { pid } of [second, removed]) reaper.remove(pid);
    reaper.add(second.pid);
    reaper.close();
    await waitFor(() => [first, second, third, last].every(isKilled), 'the end of the children');
    // The reaper has read its whole input.
    await delay(200);
    expect(isKilled(removed)).toBe(false);
  });

  it('are killed, also those that start after all others have ended', async () => {
    const reaper = new ChildReaper();
    const first = startChild();
    reaper.add(first.pid);
    reaper.remove(first.pid);
    const second = startChild();
    reaper.add(second.pid);
    reaper.close();
    await waitFor(() => isKilled(second), 'the end of the child');
    expect(isKilled(first)).toBe(false);
  });
});
