import { type Bus, serve, webhookRequests } from '@fleet/bus';

/**
 * Fakes a webhook-dispatcher whose requests all succeed. `queued` is the count returned for a replay, `result` the
 * result of a retry.
 */
export function startFakeDispatcher(
  bus: Bus,
  { queued = 0, result = 'queued' }: { queued?: number; result?: 'queued' | 'running' | 'unknown' } = {},
): { readonly requests: unknown[]; stop(): Promise<void> } {
  const requested: unknown[] = [];
  const options = {
    queue: 'webhook-dispatcher',
    onError: (error: unknown): void => {
      throw error;
    },
  };
  const attempt = {
    number: 1,
    trigger: 'test',
    startedAtMs: 1_790_000_000_000,
    durationMs: 12,
    statusCode: 204,
    errorCode: null,
    responseBody: '',
  };
  const served = [
    serve(bus, webhookRequests.test, options, async (body) => {
      requested.push(body);
      return { attempt };
    }),
    serve(bus, webhookRequests.retry, options, async (body) => {
      requested.push(body);
      return { result };
    }),
    serve(bus, webhookRequests.replay, options, async (body) => {
      requested.push(body);
      return { queued };
    }),
  ];
  return { requests: requested, stop: async () => void (await Promise.all(served.map((each) => each.stop()))) };
}
