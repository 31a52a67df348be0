/** A message to a user. */
export interface Message {
  readonly kind: 'mail' | 'sms';
  /** Identifies all attempts of one message; without it each attempt is a separate message. */
  readonly id?: string;
  readonly to: string;
  /** For mails. */
  readonly subject?: string;
  /** For mails with another sender than the provider's own. */
  readonly from?: string;
  readonly text: string;
}

/** Thrown if the provider will never accept the message, because the message itself is invalid. */
export class MessageRefusedError extends Error {
  override readonly name = 'MessageRefused';
}
