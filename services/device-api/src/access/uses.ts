import type { RequestContext, Route } from '@fleet/service-kit';
import { isWebsocket } from '@fleet/service-kit/websocket';

/** The validated parts of a request. */
export interface ValidatedInput {
  readonly query: unknown;
  readonly params: unknown;
  readonly body: unknown;
}

/** Returns how a request uses a device; `part`: another part of an earlier view. Talk is recorded when it begins. */
export function classifyUse(
  { bucket, operationId }: Route,
  { request }: RequestContext,
): 'command' | 'talk' | 'view' | 'part' | undefined {
  if (bucket === 'command') return 'command';
  if (request.method !== 'GET') return undefined;
  if (operationId === 'talk') return 'talk';
  if (bucket === 'stream') return 'view';
  if (operationId !== 'downloadUpload') return undefined;
  // A player requests one clip in many parts: the first of them is the view.
  return /^bytes=0-|^$/.test(request.get('range') ?? '') ? 'view' : 'part';
}

/** Returns the channel, the terminal control command and the force of a request, for the audit log. */
export function describeUse({ query, params, body }: ValidatedInput): {
  channel?: number;
  command?: number;
  isForced?: boolean;
} {
  const { channel, command, force } = {
    ...(body as object | undefined),
    ...(query as object),
    ...(params as object),
  } as { channel?: number; command?: number; force?: boolean };
  return {
    ...(channel === undefined ? {} : { channel }),
    ...(command === undefined ? {} : { command }),
    ...(force === true ? { isForced: true } : {}),
  };
}

/**
 * Calls back with the duration of a view or a talk after its end; calls `onRejected` instead for a rejected request, or
 * a caller that left before the response.
 */
export function onViewEnd(
  { response }: RequestContext,
  onEnd: (seconds: number) => void,
  onRejected?: () => void,
): void {
  const sinceMs = performance.now();
  response.once('close', () => {
    // The status of a response that has not begun is 200.
    const hasBegun = response.headersSent ? response.statusCode < 300 : isWebsocket(response);
    if (hasBegun) onEnd(Math.round((performance.now() - sinceMs) / 1000));
    else onRejected?.();
  });
}
