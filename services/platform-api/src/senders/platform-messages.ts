import type { Messages } from '../providers/messages.ts';
import type { LineOptions } from './sending.ts';
import type { SenderSettings } from './settings.ts';
import { smsProviderOf } from './sms.ts';

/** What the platform itself has to say (codes, answers to text messages): texts by the provider of the installation where it has one, all else by its own sender. */
export function platformMessages(
  settings: SenderSettings,
  own: Messages,
  options: LineOptions = {},
): Messages & { stop(): void } {
  if (settings.SMS_PROVIDER === 'log') return { send: (message) => own.send(message), stop: () => undefined };
  const sms = smsProviderOf(settings, own, options);
  return {
    send: async (message) => {
      if (message.kind === 'mail') return own.send(message);
      await sms.send({ to: message.to, from: null, text: message.text });
    },
    stop: () => sms.stop(),
  };
}
