import { createCircuitBreaker } from '@fleet/service-kit';
import { type Message, MessageRefusedError, type MessageSender } from '../providers/message-sender.ts';
import {
  PermanentSendError,
  type ProviderClientOptions,
  providerClientDefaults,
  TransientSendError,
} from './provider-client.ts';

/** Sends mails (or SMS without an SMS provider); throws TransientSendError or PermanentSendError. */
export interface GuardedSender {
  send(message: Message): Promise<void>;
  stop(): void;
}

/** Returns the installation's own sender behind a circuit breaker. */
export function guardMessageSender(
  name: string,
  sender: MessageSender,
  options: ProviderClientOptions = {},
): GuardedSender {
  const { requestsToOpen, resetTimeoutMs } = { ...providerClientDefaults, ...options };
  const breaker = createCircuitBreaker((message: Message) => sender.send(message), {
    volumeThreshold: requestsToOpen,
    resetTimeoutMs,
    // An invalid address must not delay other mails.
    isFailure: (error) => !(error instanceof MessageRefusedError),
  });
  return {
    send: async (message) => {
      // Not sent: the circuit breaker would count it as a success. While it is half open, one message tests and the
      // others wait.
      if (breaker.opened || (breaker.halfOpen && !breaker.pendingClose))
        throw new TransientSendError(`the ${name} provider is paused after failures`, { retryAfterMs: resetTimeoutMs });
      try {
        await breaker.fire(message);
      } catch (cause) {
        if (cause instanceof MessageRefusedError)
          throw new PermanentSendError(`the ${name} provider rejected a message: ${cause.message}`);
        throw new TransientSendError(`the ${name} provider did not accept a message`, { cause });
      }
    },
    stop: () => breaker.shutdown(),
  };
}
