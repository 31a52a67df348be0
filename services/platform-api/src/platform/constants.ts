/** Milliseconds of a day. */
export const dayMs = 86_400_000;

/** Speed from which a vehicle moves; below it, positions drift. */
export const movingFromKmh = 5;

/** Silence after which a terminal counts as offline. */
export const offlineAfterMs = 600_000;
