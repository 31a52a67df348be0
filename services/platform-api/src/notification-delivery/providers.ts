import type { Logger } from '@fleet/service-kit';
import type { Config } from '../assembly/config.ts';
import type { MessageSender } from '../providers/message-sender.ts';
import { Fcm } from './fcm.ts';
import { guardedMessages, type MailProvider } from './guarded-messages.ts';
import type { LineOptions } from './sending.ts';
import { type SmsProvider, smsProviderOf } from './sms.ts';

/** A push message to one device. */
export interface PushMessage {
  readonly token: string;
  readonly title: string;
  readonly body: string;
  /** A later message with the same key replaces a pending one. */
  readonly collapseKey: string;
  /** For the application; texts only. */
  readonly data: Readonly<Record<string, string>>;
}

/** `unregistered`: the token is permanently invalid. */
export type PushResult = 'sent' | 'unregistered';

/** Sends push messages to devices; throws SendingFailed or SendingRefused. */
export interface PushProvider {
  readonly name: string;
  send(message: PushMessage): Promise<PushResult>;
  stop(): void;
}

/** Writes push messages to the log, in production without their texts. */
export const loggedPush = (log: Logger, config: Pick<Config, 'NODE_ENV'>): PushProvider => ({
  name: 'log',
  send: async ({ title, body, collapseKey }) => {
    const response = config.NODE_ENV === 'production' ? {} : { title, body };
    log.info({ collapseKey, ...response }, 'push message: no provider is configured');
    return 'sent';
  },
  stop: () => undefined,
});

/** Providers of an installation; an account selects one of each kind. */
export interface Providers {
  readonly push: ReadonlyMap<string, PushProvider>;
  readonly sms: ReadonlyMap<string, SmsProvider>;
  readonly mail: MailProvider;
  stop(): void;
}

/** `log`, and the configured providers. */
export function providersOf(
  config: Config,
  parts: { readonly log: Logger; readonly messages: MessageSender },
  options: LineOptions = {},
): Providers {
  const { FCM_SERVICE_ACCOUNT, FCM_URL } = config;
  const push: PushProvider[] = [loggedPush(parts.log, config)];
  if (config.PUSH_PROVIDER === 'fcm' && FCM_SERVICE_ACCOUNT !== undefined)
    push.push(new Fcm({ FCM_SERVICE_ACCOUNT, FCM_URL }, options));
  const sms = [smsProviderOf({ ...config, SMS_PROVIDER: 'log' }, parts.messages, options)];
  if (config.SMS_PROVIDER !== 'log') sms.push(smsProviderOf(config, parts.messages, options));
  const mail = guardedMessages('mail', parts.messages, options);
  return {
    push: new Map(push.map((each) => [each.name, each])),
    sms: new Map(sms.map((each) => [each.name, each])),
    mail,
    stop: () => [...push, ...sms, mail].forEach((each) => each.stop()),
  };
}
