import { ensureStreams, toStreamOptions } from '@fleet/bus';
import { type Running, retryUntilSuccess } from '@fleet/service-kit';
import type { Deps } from '../platform/deps.ts';

/**
 * Starts consumers as soon as the broker is available and the streams exist. Ensures the streams again after each
 * reconnect, because a broker may return without data. `name` is for the log.
 */
export function startDurableConsumers(
  { bus, config, log }: Pick<Deps, 'bus' | 'config' | 'log'>,
  name: string,
  start: () => readonly Running[],
): Running {
  let consumers: readonly Running[] | undefined;
  const startWithStreams = async (): Promise<void> => {
    await ensureStreams(await bus.jetstreamManager(), toStreamOptions(config));
    consumers ??= start();
  };
  const onError = (error: unknown): void => log.warn({ err: error, name }, 'could not start the consumers yet');
  let startup = retryUntilSuccess(startWithStreams, onError);
  let restarting: Promise<void> = Promise.resolve();
  // JetStream may respond late after a reconnect.
  const unsubscribe = bus.onReconnect(() => {
    restarting = restarting.then(async () => {
      await startup.stop();
      startup = retryUntilSuccess(startWithStreams, onError);
    });
  });
  return {
    stop: async () => {
      unsubscribe();
      await restarting;
      await startup.stop();
      await Promise.all(consumers?.map((consumer) => consumer.stop()) ?? []);
    },
  };
}
