import CircuitBreaker from 'opossum';
import { type Message, MessageRefusedError, type MessageSender } from '../providers/message-sender.ts';
import { type LineOptions, lineDefaults, SendingFailed, SendingRefused } from './sending.ts';

/** Sends mails (or the SMS of an installation without a provider of its own); throws SendingFailed or SendingRefused. */
export interface MailProvider {
  send(message: Message): Promise<void>;
  stop(): void;
}

/** The installation's own sender behind a breaker, which leaves it alone while it fails. */
export function guardedMessages(name: string, messages: MessageSender, options: LineOptions = {}): MailProvider {
  const { requestsToOpen, leftAloneMs } = { ...lineDefaults, ...options };
  const breaker = new CircuitBreaker((message: Message) => messages.send(message), {
    // The request has a limit of its own, which also ends its connection.
    timeout: false,
    rollingCountTimeout: 60_000,
    volumeThreshold: requestsToOpen,
    errorThresholdPercentage: 50,
    resetTimeout: leftAloneMs,
    // Whoever has an address that is none stops nobody else's mails.
    errorFilter: (error: unknown) => error instanceof MessageRefusedError,
  });
  return {
    send: async (message) => {
      // Not asked: the breaker would count it as one that did not fail. While it is half open one alone tries, and the others wait for that.
      if (breaker.opened || (breaker.halfOpen && !breaker.pendingClose))
        throw new SendingFailed(`the provider of ${name} is left alone after failures`, { retryAfterMs: leftAloneMs });
      try {
        await breaker.fire(message);
      } catch (cause) {
        if (cause instanceof MessageRefusedError)
          throw new SendingRefused(`the provider of ${name} refuses a message: ${cause.message}`);
        throw new SendingFailed(`the provider of ${name} did not take a message`, { cause });
      }
    },
    stop: () => breaker.shutdown(),
  };
}
