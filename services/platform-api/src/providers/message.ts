/** A message to a person. */
export interface Message {
  readonly kind: 'mail' | 'sms';
  /** The same for every attempt to send it; without one each attempt is a message of its own. */
  readonly id?: string;
  readonly to: string;
  /** Of a mail. */
  readonly subject?: string;
  /** Of a mail, where it comes from another address than the provider's own. */
  readonly from?: string;
  readonly text: string;
}

/** The provider will never take this message, however often it is asked: what is wrong is the message's own. */
export class MessageRefusedError extends Error {
  override readonly name = 'MessageRefused';
}
