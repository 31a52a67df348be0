import { isSmsProvider } from '../domains/messaging/schema.ts';
import { type OutboundText, saveOutbound } from '../domains/messaging/use-cases.ts';
import { removePushToken } from '../domains/notifications/push-tokens.ts';
import type { NotificationResponse, NotifyChannel } from '../domains/notifications/schema.ts';
import type { GlobalConfig } from '../domains/preferences/schema.ts';
import type { Deps } from '../platform/deps.ts';
import type { Scope } from '../store/account-repository.ts';
import type { Audience, Listener } from './audience.ts';
import type { Providers } from './providers.ts';
import { SendingRefused } from './sending.ts';
import { countToday, uncountToday } from './sent-log.ts';
import { mailOf, smsText, titled } from './texts.ts';

/** One message to a user at one address. */
export interface Letter {
  readonly accountId: number;
  readonly notification: NotificationResponse;
  readonly listener: Listener;
  readonly config: GlobalConfig;
}

/** An address of a user on a channel; `key` identifies it among the user's addresses. */
export interface Target {
  readonly key: string;
  /** Sends a message and returns the result; throws SendingFailed or SendingRefused. */
  readonly send: () => Promise<'sent' | 'skipped' | 'unregistered'>;
}

/** A delivery channel for users. */
export interface SenderChannel {
  readonly name: NotifyChannel;
  targetsOf(letter: Letter): Promise<Target[]>;
}

type Parts = Pick<Deps, 'records' | 'database' | 'redis' | 'log'>;

const readerOf = ({ preferences: { values } }: Listener) => ({ language: values.language, timezone: values.timezone });

const providerOf = <T>(providers: ReadonlyMap<string, T>, name: string): T => {
  const provider = providers.get(name) ?? providers.get('log');
  if (provider === undefined) throw new SendingRefused(`there is no provider ${name}`);
  return provider;
};

export const pushChannel = (parts: Parts, providers: Providers, audience: Audience): SenderChannel => ({
  name: 'push',
  targetsOf: async (letter) => {
    const tokens = await audience.tokensOf(letter.listener.user);
    const { notification, listener, config } = letter;
    const { title, description } = titled(notification, readerOf(listener));
    const collapseKey = `${notification.vehicle_id}:${notification.notification_type}`;
    const provider = providerOf(providers.push, config.push.provider);
    return tokens.map((token) => ({
      key: String(token._id),
      send: async () => {
        if (await isRecent(parts, letter, token._id)) return 'skipped';
        const message = { token: token.token, title, body: `${notification.vehicle_no}: ${description}`, collapseKey };
        const result = await provider.send({ ...message, data: dataOf(notification) });
        if (result === 'unregistered') await removePushToken(parts, token);
        return result;
      },
    }));
  },
});

/** Values of a push message's data are texts. */
const dataOf = (notification: NotificationResponse): Record<string, string> => ({
  notification_id: String(notification.id),
  notification_type: notification.notification_type,
  severity: notification.severity,
  vehicle_id: String(notification.vehicle_id),
  vehicle_no: notification.vehicle_no,
  imei: notification.imei,
  timestamp: String(notification.timestamp),
  latitude: String(notification.location.latitude),
  longitude: String(notification.location.longitude),
});

/**
 * Returns whether the same type of the same vehicle went to the device within the account's `dedupe_seconds`, ignoring
 * repetitions of the same notification.
 */
async function isRecent({ redis, log }: Parts, { notification, config }: Letter, tokenId: number): Promise<boolean> {
  const seconds = config.push.dedupe_seconds;
  if (seconds === 0) return false;
  const key = `push-sent:${tokenId}:${notification.vehicle_id}:${notification.notification_type}`;
  try {
    const isFirst = await redis.set(key, String(notification.id), { NX: true, PX: seconds * 1_000 });
    return isFirst === null && (await redis.get(key)) !== String(notification.id);
  } catch (error) {
    // A duplicate is better than a missing message.
    log.warn({ err: error }, 'could not read recent push messages');
    return false;
  }
}

export const smsChannel = (parts: Parts, providers: Providers): SenderChannel => ({
  name: 'sms',
  targetsOf: async ({ accountId, notification, listener, config }) => {
    const { user } = listener;
    const to = user.phoneNumber;
    if (to === null) return [];
    const provider = providerOf(providers.sms, config.sms.provider);
    const text = smsText(notification, readerOf(listener));
    const send = async (): Promise<'sent' | 'skipped'> => {
      const now = new Date();
      if ((await countToday(parts.database, 'sms', accountId, now)) > config.sms.daily_limit) {
        await uncountToday(parts.database, 'sms', accountId, now);
        return 'skipped';
      }
      try {
        const id = await provider.send({ to, from: config.sms.sender_id, text });
        const about = { to, text, userId: user._id, vehicleId: notification.vehicle_id };
        if (id !== null && isSmsProvider(provider.name))
          await note(
            parts,
            { accountId },
            { ...about, provider: provider.name, providerMessageId: id, from: config.sms.sender_id ?? '' },
          );
        return 'sent';
      } catch (error) {
        await uncountToday(parts.database, 'sms', accountId, now);
        throw error;
      }
    };
    return [{ key: 'sms', send }];
  },
});

/** Records a sent message in the chat log; a failure does not send it again. */
async function note(parts: Parts, scope: Scope, sent: OutboundText): Promise<void> {
  try {
    await saveOutbound(parts, scope, sent);
  } catch (error) {
    parts.log.warn({ err: error }, 'could not record a sent text message');
  }
}

export const emailChannel = (providers: Providers): SenderChannel => ({
  name: 'email',
  targetsOf: async ({ notification, listener, config }) => {
    const { email: to } = listener.user;
    if (to === null) return [];
    const { from } = config.email;
    const send = async (): Promise<'sent'> => {
      const mail = mailOf(notification, readerOf(listener));
      await providers.mail.send({ kind: 'mail', to, ...mail, ...(from === null ? {} : { from }) });
      return 'sent';
    };
    return [{ key: 'email', send }];
  },
});
