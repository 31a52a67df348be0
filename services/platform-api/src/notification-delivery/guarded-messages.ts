import CircuitBreaker from 'opossum';
import { type Message, MessageRefusedError, type MessageSender } from '../providers/message-sender.ts';
import { type LineOptions, lineDefaults, SendingFailed, SendingRefused } from './sending.ts';

/** Sends mails (or SMS without an SMS provider); throws SendingFailed or SendingRefused. */
export interface MailProvider {
  send(message: Message): Promise<void>;
  stop(): void;
}

/** The installation's own sender behind a circuit breaker. */
export function guardedMessages(name: string, messages: MessageSender, options: LineOptions = {}): MailProvider {
  const { requestsToOpen, leftAloneMs } = { ...lineDefaults, ...options };
  const breaker = new CircuitBreaker((message: Message) => messages.send(message), {
    // The request has its own time-out, which also closes its connection.
    timeout: false,
    rollingCountTimeout: 60_000,
    volumeThreshold: requestsToOpen,
    errorThresholdPercentage: 50,
    resetTimeout: leftAloneMs,
    // An invalid address must not delay other mails.
    errorFilter: (error: unknown) => error instanceof MessageRefusedError,
  });
  return {
    send: async (message) => {
      // Not sent: the circuit breaker would count it as a success. While it is half open, one message tests and the
      // others wait.
      if (breaker.opened || (breaker.halfOpen && !breaker.pendingClose))
        throw new SendingFailed(`the ${name} provider is paused after failures`, { retryAfterMs: leftAloneMs });
      try {
        await breaker.fire(message);
      } catch (cause) {
        if (cause instanceof MessageRefusedError)
          throw new SendingRefused(`the ${name} provider rejected a message: ${cause.message}`);
        throw new SendingFailed(`the ${name} provider did not accept a message`, { cause });
      }
    },
    stop: () => breaker.shutdown(),
  };
}
