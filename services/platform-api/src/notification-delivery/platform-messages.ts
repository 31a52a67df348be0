import { isSmsProvider, type SmsProviderName } from '../domains/messaging/schema.ts';
import type { Message, MessageSender } from '../providers/message-sender.ts';
import type { LineOptions } from './sending.ts';
import type { SenderSettings } from './settings.ts';
import { smsProviderOf } from './sms.ts';

/** An accepted text message; status callbacks of the provider name the id. */
export interface TakenText {
  readonly provider: SmsProviderName;
  readonly id: string;
}

/**
 * Sends messages; returns the provider's id of a text message if there is one, and throws if the provider rejects it.
 */
export interface PlatformMessages {
  send(message: Message): Promise<TakenText | null>;
  /** False if messages of a kind only go to the log. */
  delivers(kind: Message['kind']): boolean;
}

/**
 * Sends messages of the platform itself (codes, replies): texts over the installation's provider if there is one, the
 * rest with its own sender.
 */
export function platformMessages(
  settings: SenderSettings,
  own: MessageSender,
  options: LineOptions = {},
): PlatformMessages & { stop(): void } {
  const sendOwn = async (message: Message): Promise<null> => {
    await own.send(message);
    return null;
  };
  const delivers = (kind: Message['kind']): boolean => own.delivers?.(kind) ?? true;
  if (settings.SMS_PROVIDER === 'log') return { send: sendOwn, delivers, stop: () => undefined };
  const sms = smsProviderOf(settings, own, options);
  return {
    send: async (message) => {
      if (message.kind === 'mail') return sendOwn(message);
      const id = await sms.send({ to: message.to, from: null, text: message.text });
      return id !== null && isSmsProvider(sms.name) ? { provider: sms.name, id } : null;
    },
    delivers: (kind) => kind === 'sms' || delivers(kind),
    stop: () => sms.stop(),
  };
}
