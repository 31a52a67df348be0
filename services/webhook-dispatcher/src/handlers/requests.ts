import type { SecureContext } from 'node:tls';
import { type Bus, serve, webhookRequests } from '@fleet/bus';
import type { WebhookRepository } from '@fleet/storage';
import type { Subscribers } from '../store/subscribers.ts';
import { queueReplay } from '../use-cases/replay.ts';
import { retryDelivery } from '../use-cases/retry.ts';
import type { SendDeps } from '../use-cases/send-attempt.ts';
import { sendTest } from '../use-cases/send-test.ts';
import type { Sweep } from '../use-cases/sweep.ts';

/** Dependencies of the bus requests. */
interface RequestDeps {
  readonly bus: Bus;
  readonly records: WebhookRepository;
  readonly subscribers: Subscribers;
  readonly sweep: Sweep;
  readonly send: SendDeps;
  readonly trust: SecureContext | undefined;
  readonly replayPerSecond: number;
  readonly onError: (error: unknown) => void;
}

/** Serves tests, retries and replays; any replica responds. */
export function serveRequests(deps: RequestDeps): { stop(): Promise<void> } {
  const { bus, onError } = deps;
  const options = { queue: 'webhook-dispatcher', onError };
  const servers = [
    serve(bus, webhookRequests.test, options, async (body) => ({ attempt: await sendTest(deps, body) })),
    serve(bus, webhookRequests.retry, options, async (body) => ({ result: await retryDelivery(deps, body) })),
    serve(bus, webhookRequests.replay, options, async (body) => ({ queued: await queueReplay(deps, body) })),
  ];
  return { stop: async () => void (await Promise.all(servers.map((server) => server.stop()))) };
}
