import { isSmsProvider, type SmsProviderName } from '../domains/messaging/schema.ts';
import type { Message, MessageSender } from '../providers/message-sender.ts';
import type { DeliverySettings } from './delivery-settings.ts';
import type { ProviderClientOptions } from './provider-client.ts';
import { createSmsProvider } from './sms-provider.ts';

/** An accepted text message; status callbacks of the provider name the id. */
export interface AcceptedText {
  readonly provider: SmsProviderName;
  readonly id: string;
}

/**
 * Sends messages; returns the provider's id of a text message if there is one, and throws if the provider rejects it.
 */
export interface PlatformMessageSender {
  send(message: Message): Promise<AcceptedText | null>;
  /** Returns false if messages of a kind only go to the log. */
  delivers(kind: Message['kind']): boolean;
}

/**
 * Sends messages of the platform itself (codes, replies): texts over the installation's provider if there is one, the
 * rest with its own sender.
 */
export function createPlatformMessageSender(
  settings: DeliverySettings,
  ownSender: MessageSender,
  options: ProviderClientOptions = {},
): PlatformMessageSender & { stop(): void } {
  const sendWithOwnSender = async (message: Message): Promise<null> => {
    await ownSender.send(message);
    return null;
  };
  const delivers = (kind: Message['kind']): boolean => ownSender.delivers?.(kind) ?? true;
  if (settings.SMS_PROVIDER === 'log') return { send: sendWithOwnSender, delivers, stop: () => undefined };
  const sms = createSmsProvider(settings, ownSender, options);
  return {
    send: async (message) => {
      if (message.kind === 'mail') return sendWithOwnSender(message);
      const id = await sms.send({ to: message.to, from: null, text: message.text });
      return id !== null && isSmsProvider(sms.name) ? { provider: sms.name, id } : null;
    },
    delivers: (kind) => kind === 'sms' || delivers(kind),
    stop: () => sms.stop(),
  };
}
