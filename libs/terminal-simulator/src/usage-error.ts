/** The arguments make no sense; the message says why, and the command exits with 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
