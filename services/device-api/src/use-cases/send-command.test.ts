import { createLogger } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import type { CommandContext } from '../deps.ts';
import { type CommandDeps, sendCommand } from './send-command.ts';

const createContext = (isCriticalAllowed?: boolean): CommandContext => ({
  correlationId: 'test',
  log: createLogger('test', 'silent'),
  deadlineAtMs: performance.now() + 10_000,
  isCriticalAllowed,
});

function createFakeDeps(): { deps: CommandDeps; imeis: string[] } {
  const imeis: string[] = [];
  const commandClient = {
    send: async ({ imei }: { imei: string }) => {
      imeis.push(imei);
      return { kind: 'timedOut' } as const;
    },
  };
  return { deps: { commandClient, stopped: new AbortController().signal } as unknown as CommandDeps, imeis };
}

const reset = { kind: 'terminalControl', command: 5, parameters: null } as const;

describe('sendCommand', () => {
  it('sends no critical command for a caller admitted for non-critical ones', async () => {
    const { deps, imeis } = createFakeDeps();
    await expect(sendCommand(deps, '1', reset, createContext(false))).rejects.toMatchObject({
      code: 'permission_denied',
    });
    expect(imeis).toEqual([]);
    await sendCommand(deps, '2', { kind: 'wakeUp' }, createContext(false));
    expect(imeis).toEqual(['2']);
  });

  it.each([undefined, true])(
    'sends critical commands for others, with isCriticalAllowed %s',
    async (isCriticalAllowed) => {
      const { deps, imeis } = createFakeDeps();
      expect(await sendCommand(deps, '1', reset, createContext(isCriticalAllowed))).toEqual({ kind: 'timedOut' });
      expect(imeis).toEqual(['1']);
    },
  );
});
