import { isSmsProvider, type SmsProviderName } from '../domains/messaging/schema.ts';
import type { Message, MessageSender } from '../providers/message-sender.ts';
import type { LineOptions } from './sending.ts';
import type { SenderSettings } from './settings.ts';
import { smsProviderOf } from './sms.ts';

/** A text message that a provider has taken; what it tells later of its way names the id. */
export interface TakenText {
  readonly provider: SmsProviderName;
  readonly id: string;
}

/** Brings messages to people; answers the provider's name of a text message where there is one, and throws where the provider did not take it. */
export interface PlatformMessages {
  send(message: Message): Promise<TakenText | null>;
  /** False where messages of a kind only go to the log. */
  delivers(kind: Message['kind']): boolean;
}

/** What the platform itself has to say (codes, answers to text messages): texts by the provider of the installation where it has one, all else by its own sender. */
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
