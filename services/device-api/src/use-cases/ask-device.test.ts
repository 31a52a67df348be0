import { createLogger } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import type { CommandContext } from '../deps.ts';
import { type AskDeps, askDevice } from './ask-device.ts';

const context = (mayBeCritical?: boolean): CommandContext => ({
  correlationId: 'test',
  log: createLogger('test', 'silent'),
  deadlineAtMs: performance.now() + 10_000,
  mayBeCritical,
});

function askedDevices(): { deps: AskDeps; imeis: string[] } {
  const imeis: string[] = [];
  const asker = {
    send: async ({ imei }: { imei: string }) => {
      imeis.push(imei);
      return { kind: 'timedOut' } as const;
    },
  };
  return { deps: { asker, stopped: new AbortController().signal } as unknown as AskDeps, imeis };
}

const reset = { kind: 'terminalControl', command: 5, parameters: null } as const;

describe('askDevice', () => {
  it('sends no critical command for a caller admitted for non-critical ones', async () => {
    const { deps, imeis } = askedDevices();
    await expect(askDevice(deps, '1', reset, context(false))).rejects.toMatchObject({ code: 'permission_denied' });
    expect(imeis).toEqual([]);
    await askDevice(deps, '2', { kind: 'wakeUp' }, context(false));
    expect(imeis).toEqual(['2']);
  });

  it.each([undefined, true])('sends critical commands for others, mayBeCritical %s', async (mayBeCritical) => {
    const { deps, imeis } = askedDevices();
    expect(await askDevice(deps, '1', reset, context(mayBeCritical))).toEqual({ kind: 'timedOut' });
    expect(imeis).toEqual(['1']);
  });
});
