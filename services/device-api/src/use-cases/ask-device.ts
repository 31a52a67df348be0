import type { DeviceCommand, Outcome } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { readDevice } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { within } from '../domain/within.ts';

/** State that takes longer than this to read is as good as unreadable. */
export const stateLimitMs = 2_000;

type AskDeps = Pick<Deps, 'asker' | 'redis' | 'stopped'>;

/** Sends one command to a device and waits for its end, within what is left of the wait since the request arrived. */
export function askDevice(
  deps: AskDeps,
  imei: string,
  command: DeviceCommand,
  context: CommandContext,
): Promise<Outcome> {
  const timeoutMs = Math.round(context.deadlineAtMs - performance.now());
  if (timeoutMs <= 0) return Promise.resolve({ kind: 'timedOut' });
  const asked = deps.asker.ask({
    imei,
    command,
    correlationId: context.correlationId,
    name: context.command,
    timeoutMs,
    isClaimed: async (claimed) => (await within(stateLimitMs, readDevice(deps.redis, claimed))) !== null,
  });
  return unlessStopped(deps.stopped, asked);
}

/** Ends a wait with 503 when the service has stopped for good. */
export async function unlessStopped<T>(stopped: AbortSignal, work: Promise<T>): Promise<T> {
  let onStopped: (() => void) | undefined;
  const stop = new Promise<never>((_resolve, reject) => {
    onStopped = () => reject(new AppError('unavailable', 'The server is stopping: ask again.'));
    if (stopped.aborted) onStopped();
    else stopped.addEventListener('abort', onStopped, { once: true });
  });
  try {
    return await Promise.race([work, stop]);
  } finally {
    if (onStopped !== undefined) stopped.removeEventListener('abort', onStopped);
  }
}
