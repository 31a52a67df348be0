import type { RequestContext } from '@fleet/service-kit';
import type { CommandContext, Deps } from '../deps.ts';

// The time-out of the device counts from the request's arrival.
export const createCommandContext = (deps: Pick<Deps, 'config'>, context: RequestContext): CommandContext => ({
  correlationId: context.requestId,
  log: context.log,
  deadlineAtMs: context.receivedAtMs + deps.config.DEVICE_REPLY_TIMEOUT_MS,
});

/** Returns the common properties of all routes that command a device. */
export const commandRouteDefaults = (deps: Pick<Deps, 'config'>) =>
  ({
    allowHead: false,
    bucket: 'command',
    timeoutMs: deps.config.REQUEST_TIMEOUT_MS,
    scopes: ['command', 'video'],
  }) as const;
