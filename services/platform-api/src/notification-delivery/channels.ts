import { isSmsProvider } from '../domains/messaging/schema.ts';
import { type OutboundText, saveOutbound } from '../domains/messaging/use-cases.ts';
import { removePushToken } from '../domains/notifications/push-tokens.ts';
import type { NotificationResponse, NotifyChannel } from '../domains/notifications/schema.ts';
import type { GlobalConfig } from '../domains/preferences/schema.ts';
import type { Deps } from '../platform/deps.ts';
import type { Scope } from '../store/account-repository.ts';
import { decrementDailyCount, incrementDailyCount } from './delivery-log.ts';
import { localizeTexts, mailContent, smsText } from './message-texts.ts';
import { PermanentSendError } from './provider-client.ts';
import type { Providers } from './providers.ts';
import type { Recipient, RecipientResolver } from './recipient-resolver.ts';

/** One message to a user at one address. */
interface OutgoingNotification {
  readonly accountId: number;
  readonly notification: NotificationResponse;
  readonly recipient: Recipient;
  readonly config: GlobalConfig;
}

/** An address of a user on a channel; `key` identifies it among the user's addresses. */
export interface MessageTarget {
  readonly key: string;
  /** Sends a message and returns the result; throws TransientSendError or PermanentSendError. */
  readonly send: () => Promise<'sent' | 'skipped' | 'unregistered'>;
}

/** A delivery channel for users. */
export interface SenderChannel {
  readonly name: NotifyChannel;
  findTargets(outgoing: OutgoingNotification): Promise<MessageTarget[]>;
}

type ChannelDeps = Pick<Deps, 'records' | 'database' | 'redis' | 'log'>;

const toReader = ({ preferences: { values } }: Recipient) => ({ language: values.language, timezone: values.timezone });

const selectProvider = <T>(providers: ReadonlyMap<string, T>, name: string): T => {
  const provider = providers.get(name) ?? providers.get('log');
  if (provider === undefined) throw new PermanentSendError(`there is no provider ${name}`);
  return provider;
};

export const createPushChannel = (
  deps: ChannelDeps,
  providers: Providers,
  resolver: RecipientResolver,
): SenderChannel => ({
  name: 'push',
  findTargets: async (outgoing) => {
    const tokens = await resolver.pushTokens(outgoing.recipient.user);
    const { notification, recipient, config } = outgoing;
    const { title, description } = localizeTexts(notification, toReader(recipient));
    const collapseKey = `${notification.vehicle_id}:${notification.notification_type}`;
    const provider = selectProvider(providers.push, config.push.provider);
    return tokens.map((token) => ({
      key: String(token._id),
      send: async () => {
        if (await isRecent(deps, outgoing, token._id)) return 'skipped';
        const message = { token: token.token, title, body: `${notification.vehicle_no}: ${description}`, collapseKey };
        const result = await provider.send({ ...message, data: toPushData(notification) });
        if (result === 'unregistered') await removePushToken(deps, token);
        return result;
      },
    }));
  },
});

/** Values of a push message's data are texts. */
const toPushData = (notification: NotificationResponse): Record<string, string> => ({
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
async function isRecent(
  { redis, log }: ChannelDeps,
  { notification, config }: OutgoingNotification,
  tokenId: number,
): Promise<boolean> {
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

export const createSmsChannel = (deps: ChannelDeps, providers: Providers): SenderChannel => ({
  name: 'sms',
  findTargets: async ({ accountId, notification, recipient, config }) => {
    const { user } = recipient;
    const to = user.phoneNumber;
    if (to === null) return [];
    const provider = selectProvider(providers.sms, config.sms.provider);
    const text = smsText(notification, toReader(recipient));
    const send = async (): Promise<'sent' | 'skipped'> => {
      const now = new Date();
      if ((await incrementDailyCount(deps.database, 'sms', accountId, now)) > config.sms.daily_limit) {
        await decrementDailyCount(deps.database, 'sms', accountId, now);
        return 'skipped';
      }
      try {
        const id = await provider.send({ to, from: config.sms.sender_id, text });
        const about = { to, text, userId: user._id, vehicleId: notification.vehicle_id };
        if (id !== null && isSmsProvider(provider.name))
          await recordSentText(
            deps,
            { accountId },
            { ...about, provider: provider.name, providerMessageId: id, from: config.sms.sender_id ?? '' },
          );
        return 'sent';
      } catch (error) {
        await decrementDailyCount(deps.database, 'sms', accountId, now);
        throw error;
      }
    };
    return [{ key: 'sms', send }];
  },
});

/** Records a sent message in the chat log; a failure does not send it again. */
async function recordSentText(deps: ChannelDeps, scope: Scope, sent: OutboundText): Promise<void> {
  try {
    await saveOutbound(deps, scope, sent);
  } catch (error) {
    deps.log.warn({ err: error }, 'could not record a sent text message');
  }
}

export const createEmailChannel = (providers: Providers): SenderChannel => ({
  name: 'email',
  findTargets: async ({ notification, recipient, config }) => {
    const { email: to } = recipient.user;
    if (to === null) return [];
    const { from } = config.email;
    const send = async (): Promise<'sent'> => {
      const mail = mailContent(notification, toReader(recipient));
      await providers.mail.send({ kind: 'mail', to, ...mail, ...(from === null ? {} : { from }) });
      return 'sent';
    };
    return [{ key: 'email', send }];
  },
});
