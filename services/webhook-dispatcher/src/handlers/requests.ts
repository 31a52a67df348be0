import type { SecureContext } from 'node:tls';
import { type Bus, serve, webhookRequests } from '@fleet/bus';
import type { WebhookRecords } from '@fleet/storage';
import type { Subscribers } from '../store/subscribers.ts';
import { queueReplay } from '../use-cases/replay.ts';
import { retryDelivery } from '../use-cases/retry.ts';
import type { SendParts } from '../use-cases/send-attempt.ts';
import { sendTest } from '../use-cases/send-test.ts';
import type { Sweep } from '../use-cases/sweep.ts';

/** What requests of platform-api are answered with. */
export interface RequestParts {
  readonly bus: Bus;
  readonly records: WebhookRecords;
  readonly subscribers: Subscribers;
  readonly sweep: Sweep;
  readonly send: SendParts;
  readonly trust: SecureContext | undefined;
  readonly replayPerSecond: number;
  readonly onError: (error: unknown) => void;
}

/** Serves tests, retries and replays; any replica answers. */
export function serveRequests(parts: RequestParts): { stop(): Promise<void> } {
  const { bus, onError } = parts;
  const options = { queue: 'webhook-dispatcher', onError };
  const served = [
    serve(bus, webhookRequests.test, options, async (body) => ({ attempt: await sendTest(parts, body) })),
    serve(bus, webhookRequests.retry, options, async (body) => ({ result: await retryDelivery(parts, body) })),
    serve(bus, webhookRequests.replay, options, async (body) => ({ queued: await queueReplay(parts, body) })),
  ];
  return { stop: async () => void (await Promise.all(served.map((each) => each.stop()))) };
}
