import { createHash } from 'node:crypto';
import { AppError, getRawBody, type Page, type Pagination, parseSort, type RequestContext } from '@fleet/service-kit';
import { findCaller } from '../../access/caller.ts';
import type { AcceptedText } from '../../notification-delivery/platform-message-sender.ts';
import type { Deps } from '../../platform/deps.ts';
import { omitUndefined } from '../../platform/fields.ts';
import { isForm } from '../../platform/forms.ts';
import { normalizePhone } from '../../platform/phone.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import type { Filter, NewAccountRecord, Scope } from '../../store/account-repository.ts';
import { isAccountActive } from '../accounts/account-status.ts';
import { normalEmail } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { findByEmail, findByPhone } from '../users/use-cases.ts';
import { normalizeVehicleNo } from '../vehicles/rules.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';
import { type Call, parseCall, parseSms, previousStatuses, type Sms } from './payloads.ts';
import { replyAbout, resolveCaller } from './replies.ts';
import { detectIntent, findNamedVehicle, parseSmsCommand, unknownCallerText } from './rules.ts';
import type { ChatMessage, ListChatQuery, Provider } from './schema.ts';
import { verifySignature } from './signatures.ts';
import { chatMessageCollection, findMessage, findOutbound } from './store.ts';

type MessagingDeps = Pick<
  Deps,
  'records' | 'database' | 'redis' | 'log' | 'config' | 'limits' | 'messages' | 'background' | 'thresholds'
>;
type WebhookBody = Readonly<Record<string, unknown>>;

/**
 * Throws 401 unless a request carries its provider's signature, or both platform headers, which the guard has checked.
 */
export async function assertSigned(
  { config, limits }: Pick<Deps, 'config' | 'limits'>,
  provider: Provider,
  context: RequestContext,
): Promise<void> {
  if (findCaller(context) !== undefined) return;
  const { request } = context;
  const signed = {
    url: config.PUBLIC_BASE_URL + request.originalUrl,
    getHeader: (name: string) => request.get(name),
    rawBody: getRawBody(context),
    isForm: isForm(context),
  };
  if (await verifySignature(provider, signed, config)) return;
  await limits.consume('platform', `ip:${request.ip ?? ''}`, context);
  throw new AppError('signature_invalid', "The provider's signature is missing or not valid.");
}

/** Stores a text message once, or the status of a sent message, and replies to the command in it. */
export async function receiveSms(
  deps: MessagingDeps,
  provider: Provider,
  body: WebhookBody,
  context: RequestContext,
): Promise<void> {
  const sms = parseSms(provider, body);
  const messageKey = `sms:${provider}:${sms.id}`;
  if (sms.isStatusCallback) return updateDeliveryStatus(deps, messageKey, sms, context);
  const { user, scope } = await resolveParties(deps, sms, context);
  if ((await findMessage(deps.records, scope.accountId, messageKey)) !== null) return;
  const command = user === null ? null : await resolveCommand(deps, user, sms.text);
  const isNew = await saveMessage(deps, scope, {
    messageKey,
    channel: 'sms',
    provider,
    providerMessageId: sms.id,
    direction: 'in',
    from: sms.from,
    to: sms.to,
    text: sms.text,
    status: 'received',
    userId: user?._id ?? null,
    vehicleId: command?.vehicle?._id ?? null,
    receivedAt: new Date(),
  });
  if (!isNew || command === null || user === null) return;
  // Not awaited: the provider of this webhook times out sooner than the sending provider may respond.
  deps.background.run(() => replyToSms(deps, scope, user, sms, provider, command), 'could not reply to an SMS');
}

/**
 * Stores the delivery status that a provider reports. The message is in the account that sent it, regardless of the
 * account of the recipient.
 */
async function updateDeliveryStatus(
  { records }: MessagingDeps,
  messageKey: string,
  { status }: Sms,
  context: RequestContext,
): Promise<void> {
  const caller = findCaller(context);
  const message =
    caller === undefined
      ? await findOutbound(records, messageKey)
      : await findMessage(records, caller.accountId, messageKey);
  if (message === null || status === null) return;
  const where = { _id: message._id, status: { $in: previousStatuses(status) } };
  await chatMessageCollection(records).updateMany(message, where, { $set: { status } });
}

interface SmsCommand {
  readonly command: 'where' | 'status';
  readonly vehicle: Vehicle | undefined;
}

async function resolveCommand(deps: MessagingDeps, user: User, text: string): Promise<SmsCommand | null> {
  const parsed = deps.config.SMS_COMMANDS ? parseSmsCommand(text) : null;
  if (parsed === null) return null;
  const visible = await visibleVehicles(deps, resolveCaller(user));
  const vehicleNo = normalizeVehicleNo(parsed.vehicleNo);
  return {
    command: parsed.command,
    vehicle: visible.map(({ vehicle }) => vehicle).find((vehicle) => vehicle.vehicleNo === vehicleNo),
  };
}

/** Sends the reply to the number in the user's record, and stores it next to the question. */
async function replyToSms(
  deps: MessagingDeps,
  scope: Scope,
  user: User,
  sms: Sms,
  provider: Provider,
  { command, vehicle }: SmsCommand,
): Promise<void> {
  const intent = command === 'where' ? 'vehicle_location' : 'vehicle_status';
  const { text } =
    vehicle === undefined
      ? { text: 'There is no such vehicle.' }
      : await replyAbout(deps, resolveCaller(user), vehicle, intent);
  const to = user.phoneNumber ?? sms.from;
  const addressing = { from: sms.to, to, text, userId: user._id, vehicleId: vehicle?._id ?? null };
  let status: ChatMessage['status'] = 'sent';
  let accepted: AcceptedText | null = null;
  try {
    accepted = await deps.messages.send({ kind: 'sms', to, text });
  } catch (error) {
    // The question is stored in any case.
    deps.log.warn({ err: error }, 'could not send the reply to an SMS');
    status = 'failed';
  }
  if (accepted !== null) {
    await saveOutbound(deps, scope, { ...addressing, provider: accepted.provider, providerMessageId: accepted.id });
    return;
  }
  // A provider cannot report the status of a message without an id.
  await saveMessage(deps, scope, {
    ...addressing,
    messageKey: `sms:${provider}:reply:${sms.id}`,
    channel: 'sms',
    provider,
    providerMessageId: `reply:${sms.id}`,
    direction: 'out',
    status,
    receivedAt: new Date(),
  });
}

/** Text message that a provider has accepted. */
export type OutboundText = Pick<
  ChatMessage,
  'provider' | 'providerMessageId' | 'from' | 'to' | 'text' | 'userId' | 'vehicleId'
>;

/** Stores a text message that a provider has accepted. Later status reports of the provider find it by its id. */
export const saveOutbound = (deps: Pick<Deps, 'records'>, scope: Scope, sent: OutboundText): Promise<boolean> =>
  saveMessage(deps, scope, {
    ...sent,
    messageKey: `sms:${sent.provider}:${sent.providerMessageId}`,
    channel: 'sms',
    direction: 'out',
    status: 'sent',
    receivedAt: new Date(),
  });

/** Replies to speech in a call; an unknown caller gets a fixed sentence. */
export async function receiveCall(deps: MessagingDeps, provider: Provider, body: WebhookBody, context: RequestContext) {
  const call = parseCall(provider, body);
  const { user, scope } = await resolveParties(deps, call, context);
  const reply = user === null ? unknownCallerReply : await replyToTranscript(deps, user, call.transcript);
  await saveMessage(deps, scope, {
    messageKey: `voice:${provider}:${call.id}:${createHash('sha256').update(call.transcript).digest('hex')}`,
    channel: 'voice',
    provider,
    providerMessageId: call.id,
    direction: 'in',
    from: call.from,
    to: call.to,
    text: call.transcript,
    status: 'received',
    userId: user?._id ?? null,
    vehicleId: reply.vehicleId,
    receivedAt: new Date(),
  });
  return { reply: reply.reply, end: reply.end, data: reply.data };
}

const unknownCallerReply = { reply: unknownCallerText, end: true, data: null, vehicleId: null };

async function replyToTranscript(deps: MessagingDeps, user: User, transcript: Call['transcript']) {
  const intent = detectIntent(transcript);
  const prompt = (text: string) => ({ reply: text, end: false, data: null, vehicleId: null });
  if (intent === null)
    return prompt('You can ask where a vehicle is, for its status, for its last alert, or for a link to share it.');
  const caller = resolveCaller(user);
  const vehicles = (await visibleVehicles(deps, caller)).map(({ vehicle }) => vehicle);
  const vehicle = findNamedVehicle(transcript, vehicles) ?? (vehicles.length === 1 ? (vehicles[0] ?? null) : null);
  if (vehicle === null) return prompt('Which vehicle? Please say its number.');
  const { text, data } = await replyAbout(deps, caller, vehicle, intent);
  const slots = { vehicle_no: vehicle.vehicleNo };
  return { reply: text, end: true, data: { intent, slots, ...data }, vehicleId: vehicle._id };
}

/**
 * Returns the user who calls and the account of the message: the caller's account with platform headers, else the
 * user's, else the operator's.
 */
async function resolveParties(
  deps: MessagingDeps,
  { from, to }: { readonly from: string; readonly to: string },
  context: RequestContext,
): Promise<{ user: User | null; scope: Scope }> {
  const caller = findCaller(context);
  const user = await findUserByNumber(deps, from);
  if (caller !== undefined) {
    const { accountId } = caller;
    return { user: user?.accountId === accountId ? user : null, scope: { accountId } };
  }
  const other = user ?? (await findUserByNumber(deps, to));
  const accountId = other?.accountId ?? (await findOperatorAccountId(deps));
  return { user, scope: { accountId } };
}

/** Returns the user with a number that the user has verified, because any number can be entered in a record. */
async function findUserByNumber({ records }: MessagingDeps, number: string): Promise<User | null> {
  // Some providers omit the plus sign.
  const phone = normalizePhone(number) ?? normalizePhone(`+${number}`);
  const user = phone === null ? null : await findByPhone(records, phone);
  if (user === null || user.disabled || user.phoneVerifiedAt === null) return null;
  return (await isAccountActive(records, user.accountId)) ? user : null;
}

/**
 * Returns the operator's account, which gets messages from unknown senders; 0, which is no account, if there is none.
 */
async function findOperatorAccountId({ records, config }: MessagingDeps): Promise<number> {
  const email = config.BOOTSTRAP_OWNER_EMAIL;
  const owner = email === undefined ? null : await findByEmail(records, normalEmail(email));
  return owner?.accountId ?? 0;
}

/** Stores a message; returns false if it exists already. */
async function saveMessage(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  message: NewAccountRecord<ChatMessage>,
): Promise<boolean> {
  try {
    await chatMessageCollection(records).insert(scope, message);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'duplicate') return false;
    throw error;
  }
}

/** Returns a page of the messages and calls of an account. */
export function listMessages(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  query: ListChatQuery,
  paging: Pagination,
): Promise<Page<ChatMessage>> {
  const [from, to] = [parseTimestamp(query.from, 'from'), parseTimestamp(query.to, 'to')];
  const receivedAt: Filter = omitUndefined({ $gte: from, $lt: to });
  const { field, direction } = parseSort(query.sort);
  return chatMessageCollection(records).list(scope, {
    where: {
      ...omitUndefined({ channel: query.channel, vehicleId: query.vehicle_id }),
      ...(Object.keys(receivedAt).length === 0 ? {} : { receivedAt }),
    },
    sorting: { field: field === 'received_at' ? 'receivedAt' : field, direction },
    paging,
  });
}

/** Erases numbers and texts of the messages to and from a user whose personal fields are erased. */
export const eraseUser = ({ records }: Pick<Deps, 'records'>, scope: Scope, userId: number): Promise<number> =>
  chatMessageCollection(records).updateMany(scope, { userId }, { $set: { from: '', to: '', text: '' } });
