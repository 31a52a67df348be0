/** Names of the request headers. */
export const headerNames = {
  /** `X-Request-Id` of the HTTP request, for logs only. */
  correlationId: 'Correlation-Id',
  /** 128 random bits, generated once for each command; joins retries. */
  commandId: 'Command-Id',
  /** Remaining time when the hop sends it. A duration, so that clocks need not agree. */
  timeoutMs: 'Timeout-Ms',
  /** Marks a retry of a request that may have reached a gateway. */
  retry: 'Re-Ask',
  /** Age of the command since its first request; only on retries. */
  commandAgeMs: 'Asked-For-Ms',
  /** On the command subject of a terminal: another gateway has taken over its session. */
  takenBy: 'Taken-By',
  error: 'Error',
  /** On a request: the caller expects heartbeats. On a message to its inbox: the service works on the request. */
  heartbeat: 'Heartbeat',
} as const;
