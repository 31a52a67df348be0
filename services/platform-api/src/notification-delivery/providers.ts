import type { Logger } from '@fleet/service-kit';
import type { Config } from '../assembly/config.ts';
import type { MessageSender } from '../providers/message-sender.ts';
import { FcmProvider } from './fcm-provider.ts';
import { type GuardedSender, guardMessageSender } from './guard-message-sender.ts';
import type { ProviderClientOptions } from './provider-client.ts';
import { createSmsProvider, type SmsProvider } from './sms-provider.ts';

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

/** Sends push messages to devices; throws TransientSendError or PermanentSendError. */
export interface PushProvider {
  readonly name: string;
  send(message: PushMessage): Promise<PushResult>;
  stop(): void;
}

/** Writes push messages to the log, in production without their texts. */
export const createLogPushProvider = (log: Logger, config: Pick<Config, 'NODE_ENV'>): PushProvider => ({
  name: 'log',
  send: async ({ title, body, collapseKey }) => {
    const response = config.NODE_ENV === 'production' ? {} : { title, body };
    log.info({ collapseKey, ...response }, 'no push provider is configured, message not sent');
    return 'sent';
  },
  stop: () => undefined,
});

/** Providers of an installation; an account selects one of each kind. */
export interface Providers {
  readonly push: ReadonlyMap<string, PushProvider>;
  readonly sms: ReadonlyMap<string, SmsProvider>;
  readonly mail: GuardedSender;
  stop(): void;
}

// `log`, and the configured providers.
export function createProviders(
  config: Config,
  deps: { readonly log: Logger; readonly messages: MessageSender },
  options: ProviderClientOptions = {},
): Providers {
  const { FCM_SERVICE_ACCOUNT, FCM_URL } = config;
  const push: PushProvider[] = [createLogPushProvider(deps.log, config)];
  if (config.PUSH_PROVIDER === 'fcm' && FCM_SERVICE_ACCOUNT !== undefined)
    push.push(new FcmProvider({ FCM_SERVICE_ACCOUNT, FCM_URL }, options));
  const sms = [createSmsProvider({ ...config, SMS_PROVIDER: 'log' }, deps.messages, options)];
  if (config.SMS_PROVIDER !== 'log') sms.push(createSmsProvider(config, deps.messages, options));
  const mail = guardMessageSender('mail', deps.messages, options);
  return {
    push: new Map(push.map((each) => [each.name, each])),
    sms: new Map(sms.map((each) => [each.name, each])),
    mail,
    stop: () => [...push, ...sms, mail].forEach((each) => each.stop()),
  };
}
