/** Why connections end (platform-contract.md, section 16). */
export const closeCodes = {
  /** Come back after the seconds that the reason gives. */
  restart: 1012,
  tooSlow: 1013,
  token: 4401,
  accessLost: 4403,
  shareEnded: 4408,
  limits: 4429,
} as const;

/** Spread, so that not all clients of a replica come back at once. */
export const comeBackReason = (why: string): string =>
  `${why}: come back after ${1 + Math.floor(Math.random() * 30)} s`;
