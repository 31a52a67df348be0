import type { CommandContext, Deps } from '../deps.ts';
import { answerOf } from '../domain/outcome.ts';
import { askDevice } from './ask-device.ts';

/** Wakes a sleeping device. Whatever it answers, it is awake then. */
export async function wakeUp(
  deps: Pick<Deps, 'asker' | 'redis' | 'stopped'>,
  request: { imei: string },
  context: CommandContext,
): Promise<{ result: 'success' }> {
  answerOf(await askDevice(deps, request.imei, { kind: 'wakeUp' }, context));
  return { result: 'success' };
}
