/** Thrown when the arguments are invalid; the message states the reason, and the command exits with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
