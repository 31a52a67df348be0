/** A backup or restore that cannot be done. The message says what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
