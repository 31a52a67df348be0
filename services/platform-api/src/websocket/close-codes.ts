/** Close codes of connections. */
export const closeCodes = {
  /** Reconnect after the seconds in the reason. */
  restart: 1012,
  tooSlow: 1013,
  token: 4401,
  accessLost: 4403,
  shareEnded: 4408,
  limits: 4429,
} as const;

/** Returns a randomized reason, so that the clients of a replica do not reconnect at the same time. */
export const reconnectReason = (why: string): string =>
  `${why}: come back after ${1 + Math.floor(Math.random() * 30)} s`;
